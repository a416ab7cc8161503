/// Sleeping on a ground's own timers. `Task.sleep` would start dispatch's threads, and virtual
/// time could not reach it.
package actor Sleeper {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  private let ground: any Ground
  private var sleepers: [UInt64: (timer: TimerID, continuation: CheckedContinuation<Bool, Never>)] =
    [:]
  private var nextID: UInt64 = 0

  package init(ground: any Ground) {
    self.ground = ground
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  /// Returns true at the deadline, false as soon as the task is cancelled.
  package func sleep(until deadline: Instant) async -> Bool {
    let id = nextID
    nextID += 1
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The handler may have run before there was an entry to take out.
        if Task.isCancelled {
          continuation.resume(returning: false)
          return
        }
        let timer = ground.schedule(at: deadline) { self.assumeIsolated { $0.wake(id, true) } }
        sleepers[id] = (timer, continuation)
      }
    } onCancel: {
      Task(executorPreference: ground) { await self.wake(id, false) }
    }
  }

  private func wake(_ id: UInt64, _ elapsed: Bool) {
    guard let sleeper = sleepers.removeValue(forKey: id) else { return }
    if !elapsed { ground.cancel(sleeper.timer) }
    sleeper.continuation.resume(returning: elapsed)
  }
}
