import Execution
import Secrets

/// A generation's end that the store has yet to follow.
struct Destruction {
  let generation: Generation
  let reason: String
  var failure: StoreError?
}

/// A logout that waits for the store.
struct DestructionWaiter {
  let timer: TimerID
  let continuation: CheckedContinuation<Result<Void, StoreError>, Never>
}

/// What a logout did.
package struct LogoutReceipt: Equatable, Sendable {
  package var previous: Generation
  package var generation: Generation
  package var hadSession: Bool
}

/// The end of a session: logout, and the upstream's own refusal. Both follow the same steps.
extension SessionCoordinator {
  /// Ends the session. When it returns, nothing of it is left in memory or on disk, and nothing
  /// that is still on its way can bring it back (I2). Never waits for the upstream.
  package func logout(
    ifGeneration expected: Generation? = nil, actorUID: UInt32? = nil
  ) async throws(LogoutError) -> LogoutReceipt {
    let previous = machine.generation
    if let expected, expected != previous { throw .generationMoved(previous) }
    let hadSession = machine.facts != nil
    if hadSession { move(reason: "logged out") }
    let generation = machine.generation
    var failure: StoreError?
    do throws(StoreError) {
      try await destroyInTime()
    } catch {
      failure = error
      scheduleDestruction(after: .seconds(1))
    }
    // The session has ended in memory either way, so its callers are answered either way.
    publish(generation, reason: "logged out", hadSession: hadSession, actorUID: actorUID)
    if let failure {
      throw .notDurable(LogoutNotDurable(generation: generation, reason: failure.reason))
    }
    return LogoutReceipt(previous: previous, generation: generation, hadSession: hadSession)
  }

  /// The token endpoint has refused the session, or it cannot go on.
  func endSession(reason: String, httpStatus: Int?) async {
    guard machine.facts != nil else { return }
    move(reason: reason)
    let generation = machine.generation
    do throws(StoreError) {
      try await destroyInTime()
    } catch {
      report(SessionEvent(.storeDegraded, generation: generation, detail: error.reason))
      scheduleDestruction(after: .seconds(1))
    }
    publish(generation, reason: reason, hadSession: true, actorUID: nil, httpStatus: httpStatus)
  }

  /// Step (a): in memory, at once. From here on every new call is answered `SignedOut`.
  private func move(reason: String) {
    let generation = machine.reserveGeneration()
    abandonFlight()
    machine.signOut(to: generation, reason: reason)
    pair = TokenPair(access: nil, refresh: nil)
    isDurable = true
    destruction = Destruction(generation: generation, reason: reason)
    announce(.moved(to: generation, session: nil))
  }

  /// Takes the flight out of its slot. Its exchange may end, but changes nothing any more.
  func abandonFlight() {
    cancelRenewal()
    if let flight = machine.flight, let task = flightTask { orphans[flight.id] = task }
    flightTask = nil
  }

  /// Steps (b) and (c), for as long as a logout waits for them; they go on after that.
  private func destroyInTime() async throws(StoreError) {
    guard destruction != nil else { return }
    let id = nextWaiter
    nextWaiter += 1
    let outcome: Result<Void, StoreError> = await withCheckedContinuation { continuation in
      let patience = machine.policy.logoutPatience
      let timer = ground.schedule(at: ground.now.advanced(by: patience)) {
        let seconds = patience.secondsRoundedUp
        let late = StoreError.failed("the store has not ended the session within \(seconds) s")
        self.assumeIsolated { $0.destructionEnded(for: id, .failure(late)) }
      }
      destructionWaiters[id] = DestructionWaiter(timer: timer, continuation: continuation)
      Task(executorPreference: ground) { await self.destroy(for: id) }
    }
    try outcome.get()
  }

  private func destroy(for id: UInt64) async {
    let outcome: Result<Void, StoreError>
    do throws(StoreError) {
      try await finishDestruction()
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    destructionEnded(for: id, outcome)
  }

  private func destructionEnded(for id: UInt64, _ outcome: Result<Void, StoreError>) {
    guard let waiter = destructionWaiters.removeValue(forKey: id) else { return }
    ground.cancel(waiter.timer)
    waiter.continuation.resume(returning: outcome)
  }

  /// The store destroys the key, then tips and rows. A logout that finds an earlier one unfinished
  /// finishes it.
  func finishDestruction() async throws(StoreError) {
    guard let due = destruction else { return }
    do throws(StoreError) {
      try await store.destroy(through: due.generation, reason: due.reason)
    } catch {
      if destruction?.generation == due.generation { destruction?.failure = error }
      throw error
    }
    if destruction?.generation == due.generation { destruction = nil }
  }

  /// Step (d): those who waited are answered.
  private func publish(
    _ generation: Generation, reason: String, hadSession: Bool, actorUID: UInt32?,
    httpStatus: Int? = nil
  ) {
    guard hadSession else { return }
    announce(.published(generation, reason: reason))
    release(upTo: generation, reason: reason)
    report(
      SessionEvent(
        .signedOut, generation: generation, detail: reason, actorUID: actorUID,
        httpStatus: httpStatus))
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
      try await finishDestruction()
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

package enum LogoutError: Error, Equatable, Sendable {
  case generationMoved(Generation)
  case notDurable(LogoutNotDurable)
}
