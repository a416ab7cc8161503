import Execution
import Platform

/// An actor on an executor of the test's choice that keeps what it is told, in order.
actor Recorder<Entry: Sendable> {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let executor: any SerialExecutor
  private(set) var entries: [Entry] = []

  init(on executor: any SerialExecutor) {
    self.executor = executor
    unownedExecutor = executor.asUnownedSerialExecutor()
  }

  func note(_ entry: Entry) {
    entries.append(entry)
  }

  /// For callbacks that run on the executor by contract; traps where they do not.
  nonisolated func noteHere(_ entry: Entry) {
    assumeIsolated { $0.note(entry) }
  }
}
