import Synchronization

extension SQLiteSessionStore {
  /// Returns once the store's thread has come to it: it is not stuck.
  package func pulse() {}
}

/// What tells a store's thread that waits for another process's lock from one that is stuck. One
/// count for the process, as it has one store.
package enum StoreProgress {
  private static let count = Atomic<UInt64>(0)

  /// How often a statement has waited a moment for a lock. Each statement's wait is bounded by
  /// ``StoreConfiguration/busyTimeout``, so this grows while the thread waits and stops with it.
  package static var waits: UInt64 { count.load(ordering: .relaxed) }

  static func wait() {
    count.add(1, ordering: .relaxed)
  }
}
