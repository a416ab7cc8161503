import Execution

/// One caller that waits for a refresh: it leaves alone, at its deadline or its cancellation, or
/// with all others when the flight lands (I7).
struct RefreshWaiter {
  let flight: RefreshFlight
  let timer: TimerID
  let continuation: CheckedContinuation<Result<Void, SessionError>, Never>
}

/// Callers that have joined a flight and do not wait for it yet: from one function of an actor to the
/// next, a task that does not prefer the ground is enqueued anew, and the flight may land meanwhile.
struct RefreshJoiners {
  let flight: RefreshFlight
  var count = 0
  /// What the flight has come to, if it has.
  var outcome: Result<Void, SessionError>?
}

extension SessionCoordinator {
  /// In the step in which a caller is told to wait for this flight; then it calls
  /// ``wait(for:by:)``.
  func join(_ flight: RefreshFlight) {
    joiners[flight.id, default: RefreshJoiners(flight: flight)].count += 1
  }

  /// The joiner waits from here on, unless the flight has landed already.
  private func takeEarlyOutcome(of flight: RefreshFlight) -> Result<Void, SessionError>? {
    guard var entry = joiners[flight.id] else { return nil }
    entry.count -= 1
    joiners[flight.id] = entry.count > 0 ? entry : nil
    return entry.outcome
  }

  /// Waits for a flight. Throws `timedOut` at the deadline and `cancelled` when the caller leaves;
  /// neither touches the flight or the other waiters.
  func wait(for flight: RefreshFlight, by deadline: Instant) async throws(SessionError) {
    let id = nextWaiter
    nextWaiter += 1
    let outcome: Result<Void, SessionError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let early = takeEarlyOutcome(of: flight)
        // The handler may have run before there was an entry to take out.
        if Task.isCancelled {
          continuation.resume(returning: .failure(SessionError.cancelled))
          return
        }
        if let early {
          continuation.resume(returning: early)
          return
        }
        let timer = ground.schedule(at: deadline) {
          self.assumeIsolated { $0.leave(id, .timedOut) }
        }
        waiters[id] = RefreshWaiter(flight: flight, timer: timer, continuation: continuation)
      }
    } onCancel: {
      Task(executorPreference: ground) { await self.leave(id, .cancelled) }
    }
    try outcome.get()
  }

  private func leave(_ id: UInt64, _ reason: SessionError) {
    guard let waiter = waiters.removeValue(forKey: id) else { return }
    ground.cancel(waiter.timer)
    waiter.continuation.resume(returning: .failure(reason))
  }

  /// Answers all that wait for a flight, alike.
  func release(_ flight: RefreshFlight, _ outcome: Result<Void, SessionError>) {
    release(where: { $0 == flight }, outcome)
  }

  /// Answers all that wait under an older generation than the present one.
  func releaseOutdated(_ error: SessionError) {
    let present = machine.generation
    release(where: { $0.generation < present }, .failure(error))
  }

  private func release(
    where matches: (RefreshFlight) -> Bool, _ outcome: Result<Void, SessionError>
  ) {
    for (id, entry) in joiners where matches(entry.flight) { joiners[id]?.outcome = outcome }
    // In the order in which they came: ids grow.
    let due = waiters.filter { matches($0.value.flight) }.sorted { $0.key < $1.key }
    for (id, waiter) in due {
      waiters[id] = nil
      ground.cancel(waiter.timer)
      waiter.continuation.resume(returning: outcome)
    }
  }
}
