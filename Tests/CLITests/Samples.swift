import BrewlogAPI

/// What a daemon might answer at 2026-11-30 14:00 UTC.
enum Samples {
  static let tip = Tip(
    id: "2026-11-30", date: "2026-11-30", title: "Rinse the paper filter first",
    body:
      "Hot water takes the taste of paper away and warms the cup. Pour it out before the coffee "
      + "goes in.\n\nHalf a cup is enough.",
    tags: ["filter", "basics"], url: "https://example.org/tips/2026-11-30")

  static let fresh = Provenance(
    source: .cache, generation: 3, fetchedAt: "2026-11-30T13:57:00Z", ageSeconds: 180,
    freshForSeconds: 720, stale: false)

  static let stale = Provenance(
    source: .cache, generation: 3, fetchedAt: "2026-11-30T09:00:00Z", ageSeconds: 18_000,
    freshForSeconds: 0, stale: true,
    staleReason: "the upstream's name could not be resolved; check the network")

  static let old = Entry(
    tip: Tip(
      id: "a-tip-with-a-rather-long-name-of-its-own", date: "2026-11-29",
      title: "茶道: 湯 at 80 °C, and a whisk that was soaked 🍵", body: "", tags: []),
    provenance: stale)

  static let entry = Entry(tip: tip, provenance: fresh)

  static let signedIn = Snapshot(
    state: .signedIn, activity: .idle, generation: 3, durable: true,
    upstream: "https://api.example.org", account: "ada@example.org", accountVerified: true,
    signedInAt: "2026-11-28T09:12:00Z", accessTokenFingerprint: "a1b2c3d4",
    accessTokenExpiresAt: "2026-11-30T14:12:00Z", refreshTokenFingerprint: "e5f60718",
    scope: "tips", rotations: 41, lastRefreshAt: "2026-11-30T13:12:00Z",
    nextRefreshAt: "2026-11-30T14:11:00Z", loginNeededBy: "2026-12-28T09:12:00Z")

  static let signedOut = Snapshot(
    state: .signedOut, activity: .idle, generation: 4, durable: true,
    reason: "the account signed out", accountVerified: false, rotations: 0)

  static let counters = Counters(
    refreshesStarted: 1, refreshesSucceeded: 1, refreshesFailed: 0, refreshWaitersJoined: 4,
    lateResultsRejected: 0, upstreamRequests: 12, requestsDeduplicated: 3, retries: 0,
    cacheHits: 90, cacheMisses: 2)

  static let status = StatusReply(session: signedIn, counters: counters, pendingRevocations: 0)

  static let store = StoreReport(
    path: "/var/lib/brewlog/session.db", schemaVersion: 1, sizeBytes: 40_960, walSizeBytes: 0,
    cachedTips: 17, encryption: "XChaCha20-Poly1305, master key from a key file", integrity: "ok")

  static let health = HealthReply(
    ready: true,
    checks: [
      Check(name: "store", ok: true, detail: "takes writes"),
      Check(name: "upstream", ok: true, detail: "answered 3 min ago"),
    ], uptimeSeconds: 7_500)

  static let explain = ExplainReply(
    sentence: "Signed in, and refreshed 48 min ago.",
    evidence: [
      Event(
        sequence: 12, at: "2026-11-30T13:12:00Z", kind: .refreshSucceeded, generation: 3,
        httpStatus: 200)
    ])
}
