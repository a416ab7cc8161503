import Execution
package import Secrets

/// Credentials that were obtained elsewhere.
package struct ImportedCredentials: ~Copyable, Sendable {
  package var access: Secret?
  package var refresh: Secret?
  package var lifetime: Duration?
  package var account: String?
  package var scope: String?
  /// What the upstream said of the refresh token's end, if it did.
  package var refreshLifetime: Duration?

  package init(
    access: consuming Secret?, refresh: consuming Secret?, lifetime: Duration?, account: String?,
    scope: String?, refreshLifetime: Duration? = nil
  ) {
    self.access = access
    self.refresh = refresh
    self.lifetime = lifetime
    self.account = account
    self.scope = scope
    self.refreshLifetime = refreshLifetime
  }
}

/// How a session begins, and how a suspended one goes on.
extension SessionCoordinator {
  /// Takes a pair over and makes it the session. The present one is replaced only once the new one
  /// is stored; then it ends like any other (I2).
  package func importCredentials(
    _ imported: consuming ImportedCredentials, ifGeneration expected: Generation? = nil,
    actorUID: UInt32? = nil
  ) async throws(SessionError) -> SessionSnapshot {
    try await begin(imported, .imported, ifGeneration: expected, actorUID: actorUID)
  }

  /// Takes up what a sign-in was granted. `since` is the generation in which it was begun: a sign-in
  /// that a logout has overtaken is void (I2).
  package func signIn(
    _ grant: consuming GrantedTokens, since generation: Generation, actorUID: UInt32?
  ) async throws(SessionError) -> SessionSnapshot {
    let lifetime = grant.lifetime
    let (account, scope, refreshLifetime) = (grant.account, grant.scope, grant.refreshLifetime)
    let granted = ImportedCredentials(
      access: grant.access, refresh: grant.refresh.take(), lifetime: lifetime, account: account,
      scope: scope, refreshLifetime: refreshLifetime)
    return try await begin(
      granted, .signedIn, ifGeneration: generation, actorUID: actorUID)
  }

  private func begin(
    _ imported: consuming ImportedCredentials, _ kind: SessionEvent.Kind,
    ifGeneration expected: Generation?, actorUID: UInt32?
  ) async throws(SessionError) -> SessionSnapshot {
    try check(expected)
    let hasAccess = imported.access != nil
    let hasRefresh = imported.refresh != nil
    guard hasAccess || hasRefresh else {
      throw .unusable(reason: "give an access token, a refresh token, or both")
    }
    let lifetime = imported.lifetime
    let wallTime = ground.wallTime
    let received = ground.now
    try await refuseSpent(fingerprint(of: imported.refresh))
    // Between this and the number that it takes there may be no wait: a logout fits in there.
    try check(expected)
    guard let id = SessionID(bytes: entropy.bytes(16)) else {
      throw .storeFailed(reason: "no random bytes could be had")
    }
    let facts = SessionFacts(
      id: id, generation: machine.reserveGeneration(), binding: endpoint.binding,
      account: imported.account,
      accountVerified: kind == .signedIn && imported.account != nil, signedInAt: wallTime,
      scope: imported.scope, accessTokenReceivedAt: wallTime,
      accessTokenExpiresAt: lifetime.map { wallTime.advanced(by: $0) },
      refreshTokenExpiresAt: imported.refreshLifetime.map { wallTime.advanced(by: $0) })
    let new: TokenPair
    let stored: TokenPair
    do throws(SecretError) {
      new = TokenPair(access: imported.access.take(), refresh: imported.refresh.take())
      stored = try new.copy()
    } catch {
      throw .storeFailed(reason: "no locked memory is left for a token; raise the memlock limit")
    }
    try await install(facts, stored)
    replace(with: facts, new, lifetime: lifetime, received: received)
    tellEnd()
    report(
      SessionEvent(
        kind, generation: facts.generation, detail: facts.account, actorUID: actorUID))
    return snapshot()
  }

  private func check(_ expected: Generation?) throws(SessionError) {
    if isStopping { throw .stopping }
    // A session that is on its way into the store already will have moved it.
    if let expected, expected != machine.generation || installs > 0 {
      throw .generationMoved(machine.generation)
    }
  }

  /// A token whose replacement was committed would, sent once more, end the session for good. Whether
  /// that is so of one that is on its way to the upstream is known when its exchange has ended (I1).
  private func refuseSpent(_ token: Fingerprint?) async throws(SessionError) {
    guard let token else { return }
    repeat {
      if let flight = flight(spending: token) { try await outlast(flight) }
      let isSpent: Bool
      do throws(StoreError) {
        isSpent = try await store.isSpent(token)
      } catch {
        throw .storeFailed(reason: error.reason)
      }
      if isSpent {
        throw .spentToken(
          reason:
            "this refresh token was replaced by a newer one here; sign in again for a new one")
      }
      // Its refresh may have begun while the store was asked.
    } while flight(spending: token) != nil
  }

  private func flight(spending token: Fingerprint) -> RefreshFlight? {
    token == fingerprint(of: pair.refresh) ? machine.flight : nil
  }

  /// Waits until a flight has ended, whatever it has come to.
  private func outlast(_ flight: RefreshFlight) async throws(SessionError) {
    join(flight)
    do throws(SessionError) {
      try await wait(for: flight, by: ground.now.advanced(by: machine.policy.deadline))
    } catch {
      switch error {
      case .timedOut, .cancelled: throw error
      default: break
      }
    }
  }

  /// Stores a new session; throws where the generation moved meanwhile.
  private func install(
    _ facts: SessionFacts, _ pair: consuming TokenPair
  ) async throws(SessionError) {
    installs += 1
    pairsBeingStored += 1
    defer {
      installs -= 1
      pairsBeingStored -= 1
    }
    do throws(StoreError) {
      let canRevoke = outbox != nil && machine.policy.canRevoke && machine.phase == .signedIn
      let isQueued = try await store.install(
        SessionRecord(facts: facts, pair: pair), permit: permit(for: facts),
        revoking: canRevoke ? takeRecord() : nil)
      if isQueued { announceRevocation() }
    } catch {
      if case .generationMoved = error { throw .generationMoved(machine.generation) }
      throw .storeFailed(reason: error.reason)
    }
    // A logout or another sign-in came later. Its number is higher, so the store ends with it; one
    // with a lower number has been replaced in the store by this one, and is here, too.
    guard machine.generation < facts.generation else { throw .generationMoved(machine.generation) }
  }

  /// The new session is on disk: it becomes the present one, and the old one ends.
  private func replace(
    with facts: SessionFacts, _ new: consuming TokenPair, lifetime: Duration?, received: Instant
  ) {
    abandonFlight(lateFate(outbox != nil && machine.policy.canRevoke))
    let hasAccess = new.access != nil
    let hasRefresh = new.refresh != nil
    machine.signIn(
      facts, hasAccess: hasAccess, hasRefresh: hasRefresh, lifetime: lifetime, now: received)
    pair = new
    isDurable = true
    destruction = nil
    let reason = "the session was replaced by a new sign-in"
    announce(.moved(to: facts.generation, session: facts.id))
    announce(.published(facts.generation, reason: reason))
    release(upTo: facts.generation, reason: reason)
    scheduleRenewal()
  }

  /// Says that the configuration's upstream is right: the suspended session goes on, bound to it.
  package func resume(actorUID: UInt32? = nil) async throws(SessionError) -> SessionSnapshot {
    if isStopping { throw .stopping }
    guard var facts = machine.facts else { throw machine.signedOutError }
    guard case .suspended = machine.phase else { return snapshot() }
    facts.binding = endpoint.binding
    do throws(StoreError) {
      let copy: TokenPair
      do throws(SecretError) {
        copy = try pair.copy()
      } catch {
        throw StoreError.failed("no locked memory is left for a token; raise the memlock limit")
      }
      try await store.commit(SessionRecord(facts: facts, pair: copy), permit: permit(for: facts))
      if machine.isCopied { try await store.adoptMachine(permit: permit(for: facts)) }
    } catch {
      throw .storeFailed(reason: error.reason)
    }
    guard machine.generation == facts.generation else {
      throw .generationMoved(machine.generation)
    }
    // Another one may have resumed it meanwhile, and what happened since must stand.
    guard case .suspended = machine.phase else { return snapshot() }
    machine.resume(facts)
    report(SessionEvent(.resumed, generation: facts.generation, actorUID: actorUID))
    scheduleRenewal()
    return snapshot()
  }
}

extension SessionCoordinator {
  /// Whether tokens that wait to be revoked are a live session's again, since somebody has signed in
  /// with them anew. Nil: a session is on its way into the store, and may be theirs.
  package func holds(anyOf tokens: [Fingerprint]) -> Bool? {
    let held = [fingerprint(of: pair.refresh), fingerprint(of: pair.access)]
    if tokens.contains(where: { held.contains($0) }) { return true }
    return installs > 0 ? nil : false
  }
}
