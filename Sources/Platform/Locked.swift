import Glibc

/// A value behind a lock, for the few that are touched from several threads. `Mutex` would do, but
/// the thread sanitizer does not see its futex and reports races that are none.
///
/// Held for a few instructions only, never across an `await`; not recursive.
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
  // Unchecked: every access to `value` is made with the mutex held.
  // On the heap by hand, since a pthread mutex must keep its address.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

  package init(_ value: consuming sending Value) {
    self.value = value
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  package func withLock<R: ~Copyable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R
  {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
