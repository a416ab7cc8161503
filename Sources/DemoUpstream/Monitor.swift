import Glibc

/// A state behind a lock, and a wait for what others change in it. The server's thread, its timer
/// and the tests' own threads meet here.
///
/// `@unchecked Sendable`: `state` is touched under the pthread mutex alone. `Synchronization.Mutex`
/// is not used, since the thread sanitizer does not understand it and it has no condition.
final class Monitor<State>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var state: State

  init(_ state: sending State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(changed, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer {
      pthread_cond_broadcast(changed)
      pthread_mutex_unlock(mutex)
    }
    return body(&state)
  }

  /// Blocks the thread until the condition holds (true) or the deadline has passed (false). Both
  /// are asked again after every change; no deadline waits without end.
  func wait(
    deadline: (State) -> ContinuousClock.Instant?, until condition: (State) -> Bool
  ) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while !condition(state) {
      guard let end = deadline(state) else {
        pthread_cond_wait(changed, mutex)
        continue
      }
      let left = ContinuousClock.now.duration(to: end)
      if left <= .zero { return false }
      var time = Self.monotonic(after: left)
      pthread_cond_timedwait(changed, mutex, &time)
    }
    return true
  }

  private static func monotonic(after span: Duration) -> timespec {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    // A condition's wait is bounded by a day: what waits longer asks again.
    let bounded = min(span, .seconds(86_400))
    time.tv_sec += Int(bounded.components.seconds)
    time.tv_nsec += Int(bounded.components.attoseconds / 1_000_000_000)
    if time.tv_nsec >= 1_000_000_000 {
      time.tv_sec += 1
      time.tv_nsec -= 1_000_000_000
    }
    return time
  }
}
