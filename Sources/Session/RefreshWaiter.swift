import Execution

/// One caller that waits for a refresh: it leaves alone, at its deadline or its cancellation, or
/// with all others when the flight lands (I7).
struct RefreshWaiter {
  let flight: RefreshFlight
  let timer: TimerID
  let continuation: CheckedContinuation<Result<Void, SessionError>, Never>
}

extension SessionCoordinator {
  /// Waits for a flight. Throws `timedOut` at the deadline and `cancelled` when the caller leaves;
  /// neither touches the flight or the other waiters.
  func wait(for flight: RefreshFlight, by deadline: Instant) async throws(SessionError) {
    let id = nextWaiter
    nextWaiter += 1
    let outcome: Result<Void, SessionError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The handler may have run before there was an entry to take out.
        if Task.isCancelled {
          continuation.resume(returning: .failure(SessionError.cancelled))
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
    release(where: { $0.flight == flight }, outcome)
  }

  /// Answers all that wait under an older generation than the present one.
  func releaseOutdated(_ error: SessionError) {
    let present = machine.generation
    release(where: { $0.flight.generation < present }, .failure(error))
  }

  private func release(
    where matches: (RefreshWaiter) -> Bool, _ outcome: Result<Void, SessionError>
  ) {
    // In the order in which they came: ids grow.
    let due = waiters.filter { matches($0.value) }.sorted { $0.key < $1.key }
    for (id, waiter) in due {
      waiters[id] = nil
      ground.cancel(waiter.timer)
      waiter.continuation.resume(returning: outcome)
    }
  }
}
