package import Execution
import Secrets

/// The refresh: one flight, joined by whoever needs it.
extension SessionCoordinator {
  /// The access token for a request of `generation`. Refreshes first where the present one is known
  /// to have expired, unless the caller has used its one refresh (`mayRefresh`, I3).
  package func credential(
    for generation: Generation, mayRefresh: Bool, by deadline: Instant
  ) async throws(SessionError) -> AccessCredential {
    try check(generation)
    var refreshed = false
    if mayRefresh || pair.access == nil {
      refreshed = try await satisfy(.token, by: deadline)
      try check(generation)
    }
    return try present(refreshed: refreshed)
  }

  /// Sees to it that the present token is not `rejected`; returns at once where it has been replaced
  /// already (I1).
  package func replace(
    _ rejected: TokenVersion, by deadline: Instant
  ) async throws(SessionError) {
    _ = try await satisfy(.replacement(of: rejected), by: deadline)
    try check(rejected.generation)
  }

  /// Refreshes now, or joins the refresh in flight.
  package func refresh(by deadline: Instant) async throws(SessionError) -> SessionSnapshot {
    let generation = machine.generation
    _ = try await satisfy(.refresh, by: deadline)
    // What was begun before a stop is answered as it ended.
    if generation != machine.generation { throw machine.signedOutError }
    return snapshot()
  }

  private func check(_ generation: Generation) throws(SessionError) {
    if let error = unavailable { throw error }
    if generation != machine.generation { throw machine.signedOutError }
  }

  private func present(refreshed: Bool) throws(SessionError) -> AccessCredential {
    guard let facts = machine.facts else { throw machine.signedOutError }
    let token: Secret?
    do throws(SecretError) {
      token = try pair.access?.copy()
    } catch {
      throw .storeFailed(reason: outOfLockedMemory)
    }
    guard let token else { throw machine.signedOutError }
    return AccessCredential(
      version: machine.accessVersion, session: facts.id, refreshed: refreshed, token: token)
  }

  /// Returns whether a refresh was waited for.
  private func satisfy(
    _ need: SessionMachine.Need, by deadline: Instant
  ) async throws(SessionError) -> Bool {
    if isStopping { throw .stopping }
    let flight: RefreshFlight
    switch machine.demand(need, now: ground.now) {
    case .use: return false
    case .refused(let error): throw error
    case .join(let present):
      counters.refreshWaitersJoined += 1
      flight = present
    case .start(let new):
      launch(new)
      flight = new
    case .end(let reason):
      await endSession(reason: reason, httpStatus: nil)
      throw machine.signedOutError
    }
    join(flight)
    // The refresh's own deadline is the daemon's: a patient caller is answered by it, too.
    let latest = ground.now.advanced(by: machine.policy.deadline)
    try await wait(for: flight, by: min(deadline, latest))
    return true
  }

  /// Starts the flight's task. The generation is in the flight, fixed before the task exists: a
  /// logout fits between the task's creation and its first step.
  func launch(_ flight: RefreshFlight) {
    // What a replaced session still has open is given up now: one exchange at a time (I1).
    for task in orphans.values { task.cancel() }
    cancelRenewal()
    counters.refreshesStarted += 1
    flightStarted = ground.now
    report(
      SessionEvent(
        .refreshStarted, generation: flight.generation, detail: flight.cause.rawValue))
    let before = orphans.values.map(\.self)
    // With a preference: a task without one leaves the ground for the global pool whenever one of
    // its continuations is resumed.
    flightTask = Task(executorPreference: ground) { await self.fly(flight, after: before) }
  }

  private func fly(_ flight: RefreshFlight, after before: [Task<Void, Never>]) async {
    defer {
      orphans[flight.id] = nil
      revocable.remove(flight.id)
    }
    for task in before { await task.value }
    // For a pair that comes after its session has ended: it may go to the outbox alone (I2).
    guard let facts = machine.facts else { return }
    guard machine.isCurrent(flight) else { return }
    let intent: RefreshIntent
    do throws(StoreError) {
      // I5: a token that could not be replaced on disk is not spent, and one that is not on disk
      // itself gets there first.
      if !isDurable { try await storePair() }
      guard machine.isCurrent(flight) else { return }
      intent = RefreshIntent(
        token: fingerprint(of: pair.refresh) ?? Fingerprint(text: "none"),
        startedAt: ground.wallTime, tries: machine.unknownOutcomes + 1)
      try await store.recordIntent(intent, permit: permit(for: flight))
    } catch {
      if case .generationMoved = error {
        await lose(flight, "a refresh's intent, by the store")
      } else {
        await fail(flight, storeFailure(error), intent: nil, isStoreFault: true)
      }
      return
    }
    guard machine.isCurrent(flight) else { return }
    // A reload may have pointed the endpoint elsewhere meanwhile (I11).
    if case .suspended(let reason) = machine.phase {
      await fail(
        flight, RefreshFailure(.cancelled, reason: reason), intent: nil, isStoreFault: false)
      return
    }
    let deadline = ground.now.advanced(by: machine.policy.deadline * 2)
    do throws(RefreshFailure) {
      let token = try tokenToSend()
      let grant = try await endpoint.refresh(with: token, deadline: deadline)
      guard machine.isCurrent(flight) else {
        rejectLate(flight, "a refresh's answer")
        await revoke(latePair(grant), of: facts, flight)
        return
      }
      try await land(flight, grant)
    } catch {
      await fail(flight, error, intent: intent, isStoreFault: false)
    }
  }

  private func tokenToSend() throws(RefreshFailure) -> Secret? {
    do throws(SecretError) {
      return try pair.refresh?.copy()
    } catch {
      throw RefreshFailure(.transient, reason: outOfLockedMemory)
    }
  }

  /// Stores what the exchange brought, then gives it out (I5).
  private func land(
    _ flight: RefreshFlight, _ grant: consuming GrantedTokens
  ) async throws(RefreshFailure) {
    guard var facts = machine.facts else { return }
    let wallTime = ground.wallTime
    let received = ground.now
    let lifetime = grant.lifetime
    facts.rotations += grant.refresh == nil ? 0 : 1
    facts.lastRefreshAt = wallTime
    facts.accessTokenReceivedAt = wallTime
    facts.accessTokenExpiresAt = lifetime.map { wallTime.advanced(by: $0) }
    facts.scope = grant.scope ?? facts.scope
    facts.follow(
      refreshEnd: grant.refreshLifetime.map { wallTime.advanced(by: $0) },
      isReplaced: grant.refresh != nil)
    let new = try renewed(by: grant)
    let stored = try copy(new)
    var isStored = true
    pairsBeingStored += 1
    defer { pairsBeingStored -= 1 }
    do throws(StoreError) {
      try await store.commit(
        SessionRecord(facts: facts, pair: stored), permit: permit(for: flight))
    } catch {
      isStored = false
      if case .generationMoved = error {
        await lose(flight, "a refresh's pair, by the store")
        return
      }
      report(SessionEvent(.storeDegraded, generation: flight.generation, detail: error.reason))
    }
    guard machine.isCurrent(flight) else {
      rejectLate(flight, "a refresh's pair")
      await revoke(new, of: facts, flight)
      return
    }
    let hasRefresh = new.refresh != nil
    pair = new
    machine.land(
      flight, facts: facts, hasRefresh: hasRefresh, lifetime: lifetime, now: received)
    flightTask = nil
    counters.refreshesSucceeded += 1
    isDurable = isStored
    if !isStored { scheduleRewrite(after: .seconds(1)) }
    checkStore()
    report(SessionEvent(.refreshSucceeded, generation: flight.generation))
    scheduleRenewal()
    release(flight, .success(()))
  }

  private func latePair(_ grant: consuming GrantedTokens) -> TokenPair {
    let refresh = grant.refresh.take()
    return TokenPair(access: grant.access, refresh: refresh)
  }

  /// Hands what an ended session still got to the outbox, where its logout asked for that.
  private func revoke(
    _ late: consuming TokenPair, of facts: SessionFacts, _ flight: RefreshFlight
  ) async {
    guard revocable.contains(flight.id), let outbox else { return }
    do throws(StoreError) {
      try await outbox.add(SessionRecord(facts: facts, pair: late))
      announceRevocation()
    } catch {
      report(
        SessionEvent(
          .storeDegraded, generation: flight.generation,
          detail: "a late token could not be queued for revocation: \(error.reason)"))
    }
  }

  /// A server that sends no refresh token keeps the old one valid (RFC 6749, section 6).
  private func renewed(by grant: consuming GrantedTokens) throws(RefreshFailure) -> TokenPair {
    var refresh = grant.refresh.take()
    if refresh == nil { refresh = try tokenToSend() }
    return TokenPair(access: grant.access, refresh: refresh)
  }

  private func copy(_ pair: borrowing TokenPair) throws(RefreshFailure) -> TokenPair {
    do throws(SecretError) {
      return try pair.copy()
    } catch {
      throw RefreshFailure(.outcomeUnknown, reason: outOfLockedMemory)
    }
  }

  private func fail(
    _ flight: RefreshFlight, _ failure: RefreshFailure, intent: RefreshIntent?,
    isStoreFault: Bool
  ) async {
    let life = lifeRefusedNow()
    let verdict = machine.fail(
      flight, failure, now: ground.now, jitter: entropy.fraction())
    switch verdict {
    case .late:
      if failure.kind != .cancelled { rejectLate(flight, "a refresh's failure") }
    case .end(let reason):
      flightTask = nil
      counters.refreshesFailed += 1
      await endSession(reason: reason, httpStatus: failure.httpStatus)
      await remember(life)
    case .held(let pause):
      flightTask = nil
      counters.refreshesFailed += 1
      report(
        SessionEvent(
          .refreshFailed, generation: flight.generation, detail: failure.reason,
          httpStatus: failure.httpStatus))
      scheduleRenewal()
      release(
        flight,
        .failure(
          isStoreFault
            ? .storeFailed(reason: failure.reason)
            : .refreshFailed(
              reason: failure.reason, httpStatus: failure.httpStatus, retryAfter: pause)))
      if isStoreFault {
        checkStore()
      } else {
        await record(failure, of: flight, intent: intent)
      }
    }
  }

  /// Keeps the backoff over a restart (I8), and the intent where the outcome is not known. A store
  /// that cannot take it leaves the backoff in memory, where it holds as well.
  private func record(
    _ failure: RefreshFailure, of flight: RefreshFlight, intent: RefreshIntent?
  ) async {
    // An exchange that was aborted may have been carried out: its intent stays.
    guard machine.generation == flight.generation, failure.kind != .cancelled else { return }
    let until = machine.backoff.notBefore ?? ground.now
    // A fault of the configuration is tried again at the next start: that may have mended it.
    let pause = until == .distantFuture ? .zero : ground.now.duration(to: until)
    let kept = BackoffRecord(
      failures: machine.backoff.failures, notBefore: ground.wallTime.advanced(by: pause),
      pause: pause, reason: failure.reason)
    // Once an outcome is not known it stays so until a refresh succeeds, whatever failed since.
    var uncertain = machine.unknownOutcomes > 0 ? intent : nil
    uncertain?.tries = machine.unknownOutcomes
    try? await store.recordFailure(kept, intent: uncertain, permit: permit(for: flight))
  }

  /// The store is at another generation. Where this coordinator has moved it, that step answers the
  /// waiters; else somebody else has, and the session that is held here is over.
  private func lose(_ flight: RefreshFlight, _ what: String) async {
    rejectLate(flight, what)
    guard machine.isCurrent(flight) else { return }
    await endSession(reason: "the store holds another session", httpStatus: nil)
  }

  private func rejectLate(_ flight: RefreshFlight, _ what: String) {
    counters.lateResultsRejected += 1
    report(
      SessionEvent(
        .lateResultRejected, generation: flight.generation,
        detail: "\(what) came after its session had ended"))
  }

  private func storeFailure(_ error: StoreError) -> RefreshFailure {
    RefreshFailure(.transient, reason: error.reason)
  }

  private var outOfLockedMemory: String {
    "no locked memory is left for a token; raise the memlock limit"
  }
}
