import Execution
import Secrets

/// A generation's end that the store has yet to follow.
struct Destruction {
  let generation: Generation
  let session: SessionID
  let reason: String
  var failure: StoreError?
}

/// What became of the revocation of an ended session's tokens.
package enum RevocationOutcome: Equatable, Sendable {
  case queued, notQueued, skipped, unsupported
}

/// A logout that waits for the store.
struct DestructionWaiter {
  let timer: TimerID
  let continuation: CheckedContinuation<Result<Bool, StoreError>, Never>
}

/// What a logout did.
package struct LogoutReceipt: Equatable, Sendable {
  package var previous: Generation
  package var generation: Generation
  package var hadSession: Bool
  package var revocation: RevocationOutcome
}

package enum LogoutError: Error, Equatable, Sendable {
  case generationMoved(Generation)
  case notDurable(LogoutNotDurable)
}

/// The end of a session: logout, and the upstream's own refusal. Both follow the same steps.
extension SessionCoordinator {
  /// Ends the session. When it returns, nothing of it is left in memory or on disk but what waits to
  /// be revoked, and nothing that is still on its way can bring it back (I2). Never waits for the
  /// upstream.
  package func logout(
    revoke: Bool = true, ifGeneration expected: Generation? = nil, actorUID: UInt32? = nil
  ) async throws(LogoutError) -> LogoutReceipt {
    let previous = machine.generation
    if let expected, expected != previous { throw .generationMoved(previous) }
    let hadSession = machine.facts != nil
    let asked = revocation(revoke)
    let old = asked == .queued ? takeRecord() : nil
    let late: LateFate = revoke ? lateFate(asked == .queued) : .cutOff
    if hadSession { move(reason: "logged out", late: late, actorUID: actorUID) }
    if !revoke { forgetLatePairs() }
    announceCancelledLogins()
    let generation = machine.generation
    let outcome = await destroyInTime(revoking: old)
    if !revoke { try? await outbox?.forgetAll() }
    // The session has ended in memory either way, so its callers are answered either way.
    publish(generation, reason: "logged out")
    switch outcome {
    case .success(let isQueued):
      if isQueued { announceRevocation() }
      return LogoutReceipt(
        previous: previous, generation: generation, hadSession: hadSession,
        revocation: asked == .queued && !isQueued ? .notQueued : asked)
    case .failure(let error):
      throw .notDurable(LogoutNotDurable(generation: generation, reason: error.reason))
    }
  }

  /// What an earlier logout has left on its way to the outbox is not wanted there any more.
  private func forgetLatePairs() {
    revocable = []
    for task in orphans.values { task.cancel() }
  }

  private func revocation(_ revoke: Bool) -> RevocationOutcome {
    guard revoke, case .signedIn = machine.phase else { return .skipped }
    return outbox != nil && machine.policy.canRevoke ? .queued : .unsupported
  }

  /// The session with its tokens, for the outbox; nil where memory is short: then they are not
  /// revoked, and the logout goes on.
  func takeRecord() -> SessionRecord? {
    guard let facts = machine.facts, let copy = try? pair.copy() else { return nil }
    return SessionRecord(facts: facts, pair: copy)
  }

  /// The token endpoint has refused the session, or it cannot go on.
  func endSession(reason: String, httpStatus: Int?) async {
    move(reason: reason, late: .dropped, httpStatus: httpStatus)
    let generation = machine.generation
    if case .failure(let error) = await destroyInTime(revoking: nil) {
      report(SessionEvent(.storeDegraded, generation: generation, detail: error.reason))
    }
    publish(generation, reason: reason)
  }

  /// Step (a): in memory, at once. From here on every new call is answered `SignedOut`.
  private func move(
    reason: String, late: LateFate, actorUID: UInt32? = nil, httpStatus: Int? = nil
  ) {
    guard let session = machine.facts?.id else { return }
    let generation = machine.reserveGeneration()
    abandonFlight(late)
    machine.signOut(to: generation, reason: reason)
    pair = TokenPair(access: nil, refresh: nil)
    isDurable = true
    destruction = Destruction(generation: generation, session: session, reason: reason)
    untoldEnd = SessionEvent(
      .signedOut, generation: generation, detail: reason, actorUID: actorUID,
      httpStatus: httpStatus)
    announce(.moved(to: generation, session: nil))
  }

  /// What becomes of an exchange whose session has ended.
  enum LateFate {
    /// It may end, and what it brings is revoked.
    case revoked
    /// It may end, and what it brings is forgotten.
    case dropped
    case cutOff
  }

  func lateFate(_ isRevoked: Bool) -> LateFate { isRevoked ? .revoked : .dropped }

  /// Takes the flight out of its slot. Nothing that it still brings changes memory or store (I2).
  func abandonFlight(_ late: LateFate) {
    cancelRenewal()
    if let flight = machine.flight, let task = flightTask {
      orphans[flight.id] = task
      switch late {
      case .revoked: revocable.insert(flight.id)
      case .dropped: break
      case .cutOff: task.cancel()
      }
    }
    flightTask = nil
  }

  /// Steps (b) and (c), for as long as a logout waits for them; they go on after that. Past it a
  /// tombstone says what a restart has to obey.
  private func destroyInTime(
    revoking old: consuming SessionRecord?
  ) async -> Result<Bool, StoreError> {
    guard let due = destruction else { return .success(false) }
    // A second logout has nothing to hand over, and must not take away what the first has.
    if old != nil { ending = old.take() }
    let id = nextWaiter
    nextWaiter += 1
    let outcome: Result<Bool, StoreError> = await withCheckedContinuation { continuation in
      let patience = machine.policy.logoutPatience
      let timer = ground.schedule(at: ground.now.advanced(by: patience)) {
        let seconds = patience.secondsRoundedUp
        let late = StoreError.failed("the store has not ended the session within \(seconds) s")
        self.assumeIsolated { $0.destructionEnded(for: id, .failure(late)) }
      }
      destructionWaiters[id] = DestructionWaiter(timer: timer, continuation: continuation)
      Task(executorPreference: ground) { await self.destroy(for: id) }
    }
    if case .failure = outcome {
      try? store.leaveTombstone(of: due.session, through: due.generation)
      scheduleDestruction(after: .seconds(1))
    }
    return outcome
  }

  private func destroy(for id: UInt64) async {
    let outcome: Result<Bool, StoreError>
    do throws(StoreError) {
      outcome = .success(try await finishDestruction())
    } catch {
      outcome = .failure(error)
    }
    destructionEnded(for: id, outcome)
  }

  private func destructionEnded(for id: UInt64, _ outcome: Result<Bool, StoreError>) {
    guard let waiter = destructionWaiters.removeValue(forKey: id) else { return }
    ground.cancel(waiter.timer)
    waiter.continuation.resume(returning: outcome)
  }

  /// The store destroys the key, then tips and rows. A logout that finds an earlier one unfinished
  /// finishes it. Returns whether the ended session's revocation is queued.
  func finishDestruction() async throws(StoreError) -> Bool {
    guard let due = destruction else {
      ending = nil
      return false
    }
    do throws(StoreError) {
      let isQueued = try await store.destroy(
        through: due.generation, reason: due.reason, revoking: ending.take())
      if destruction?.generation == due.generation { destruction = nil }
      // The key is gone; whether rows are left is known before anyone is told.
      await askStore()
      return isQueued
    } catch {
      if destruction?.generation == due.generation { destruction?.failure = error }
      throw error
    }
  }

  /// Step (d): those who waited are answered.
  private func publish(_ generation: Generation, reason: String) {
    announce(.published(generation, reason: reason))
    release(upTo: generation, reason: reason)
    tellEnd(of: generation)
  }

  /// Tells of a session's end once: when it is published, or before the sign-in that comes after it
  /// and was stored first. The events of moves are in the order of the moves.
  func tellEnd(of generation: Generation? = nil) {
    guard let event = untoldEnd, generation ?? event.generation == event.generation else { return }
    untoldEnd = nil
    report(event)
  }

  func release(upTo generation: Generation, reason: String) {
    releaseOutdated(.signedOut(generation: generation, reason: reason))
  }

  /// Goes on trying to destroy what a logout could not.
  func scheduleDestruction(after pause: Duration) {
    guard !isStopping, destructionTimer == nil else { return }
    destructionTimer = ground.schedule(at: ground.now.advanced(by: pause)) {
      Task(executorPreference: self.ground) { await self.retryDestruction(pause) }
    }
  }

  private func retryDestruction(_ pause: Duration) async {
    destructionTimer = nil
    guard let due = destruction else { return }
    do throws(StoreError) {
      _ = try await finishDestruction()
      report(SessionEvent(.storeHealed, generation: due.generation))
    } catch {
      scheduleDestruction(after: min(pause * 2, .seconds(30)))
    }
  }

  /// What keeps a logout from being durable, if anything.
  package var undestroyed: String? {
    destruction.map { $0.failure?.reason ?? "the store has not followed the logout yet" }
  }
}
