import BrewlogAPI
import Execution
import Session
import Tips

/// From the domain's values to the contract's.
enum SnapshotMapping {
  static func snapshot(_ session: SessionSnapshot) -> Snapshot {
    var snapshot = snapshot(
      session.facts, generation: session.generation, session.loginForecast)
    switch session.phase {
    case .signedOut(let reason):
      snapshot.state = .signedOut
      snapshot.reason = reason
    case .signedIn: snapshot.state = .signedIn
    case .suspended(let reason):
      snapshot.state = .suspended
      snapshot.reason = reason
    }
    snapshot.activity =
      switch session.activity {
      case .idle: .idle
      case .refreshing: .refreshing
      case .backingOff: .backingOff
      }
    snapshot.durable = session.durable
    snapshot.accessTokenFingerprint = session.accessToken?.text
    snapshot.refreshTokenFingerprint = session.refreshToken?.text
    snapshot.lastRefreshError = session.lastRefreshError
    snapshot.nextRefreshAt = session.nextRefreshAt.map(Timestamps.text)
    return snapshot
  }

  static func snapshot(_ stored: PersistedSession) -> Snapshot {
    var snapshot = snapshot(
      stored.facts, generation: stored.generation, stored.loginForecast)
    snapshot.state = stored.facts == nil ? .signedOut : .signedIn
    snapshot.reason = stored.facts == nil ? stored.signedOutReason : nil
    snapshot.accessTokenFingerprint = stored.accessToken?.text
    snapshot.refreshTokenFingerprint = stored.refreshToken?.text
    snapshot.activity = stored.backoff == nil ? .idle : .backingOff
    snapshot.lastRefreshError = stored.backoff?.reason
    return snapshot
  }

  private static func snapshot(
    _ facts: SessionFacts?, generation: Generation, _ forecast: LoginForecast?
  ) -> Snapshot {
    Snapshot(
      state: .signedOut, activity: .idle, generation: number(generation), durable: true,
      upstream: facts?.binding.apiOrigin, account: facts?.account,
      accountVerified: facts?.accountVerified ?? false,
      signedInAt: facts.map { Timestamps.text($0.signedInAt) },
      accessTokenExpiresAt: facts?.accessTokenExpiresAt.map(Timestamps.text),
      refreshTokenExpiresAt: facts?.refreshTokenExpiresAt.map(Timestamps.text),
      scope: facts?.scope, rotations: facts?.rotations ?? 0,
      lastRefreshAt: facts?.lastRefreshAt.map(Timestamps.text),
      loginNeededBy: forecast.map { Timestamps.text($0.neededBy) },
      loginNeededBasis: forecast?.reason)
  }

  /// Whether a restart would give what memory holds. A suspended session is stored like any other.
  static func isConsistent(_ stored: PersistedSession, _ session: SessionSnapshot) -> Bool {
    stored.generation == session.generation && stored.facts == session.facts
      && stored.accessToken == session.accessToken && stored.refreshToken == session.refreshToken
  }

  static func store(_ stored: PersistedSession) -> StoreReport {
    StoreReport(
      path: stored.path, schemaVersion: stored.schemaVersion, sizeBytes: stored.sizeBytes,
      walSizeBytes: stored.walSizeBytes, cachedTips: stored.cachedTips,
      encryption: stored.encryption, integrity: stored.integrity)
  }

  static func revocation(_ outcome: RevocationOutcome) -> Revocation {
    switch outcome {
    case .queued: .queued
    case .notQueued: .notQueued
    case .skipped: .skipped
    case .unsupported: .unsupported
    }
  }

  static func number(_ generation: Generation) -> Int { Int(clamping: generation.number) }

  static func entry(_ entry: TipEntry) -> Entry {
    let cached = entry.cached
    let tip = cached.tip
    let source: BrewlogAPI.TipSource =
      switch entry.source {
      case .cache: .cache
      case .network: .network
      case .revalidated: .revalidated
      }
    return Entry(
      tip: BrewlogAPI.Tip(
        id: tip.id, date: tip.date, title: tip.title, body: tip.body, tags: tip.tags,
        url: tip.url, extra: tip.extra.isEmpty ? nil : tip.extra),
      provenance: Provenance(
        source: source, generation: number(cached.generation),
        fetchedAt: Timestamps.text(cached.fetchedAt), ageSeconds: entry.age.secondsRoundedDown,
        freshForSeconds: cached.freshFor.secondsRoundedDown, stale: entry.staleReason != nil,
        staleReason: entry.staleReason))
  }
}
