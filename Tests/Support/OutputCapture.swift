import Glibc
import Platform

/// Reads a pipe to its end on a thread of its own, so that a child never blocks on a full one.
final class OutputCapture: @unchecked Sendable {
  // Unchecked: everything below is touched with `mutex` held only.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var bytes: [UInt8] = []
  private var ended = false

  init() {
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition.initialize(to: pthread_cond_t())
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Takes over the descriptor. The thread keeps the capture alive until the pipe's end.
  func start(reading raw: Int32) throws {
    let thread = SystemThread.start { [self] in
      let pipe = FileDescriptor(owning: raw)
      var buffer = [UInt8](repeating: 0, count: 16384)
      while true {
        let count = read(pipe.rawValue, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { break }
        append(buffer.prefix(count))
      }
      finish()
    }
    guard let thread else { throw SystemError(operation: "start a thread", code: EAGAIN) }
    thread.letGo()
  }

  var text: String {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Waits until the text fulfils `condition` (true) or the pipe has ended or the time is over
  /// (false).
  func wait(for span: Duration, until isMet: (String) -> Bool) -> Bool {
    var limit = timespec()
    clock_gettime(CLOCK_REALTIME, &limit)
    limit.tv_sec += Int(span.components.seconds)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while !isMet(String(decoding: bytes, as: UTF8.self)) {
      if ended || pthread_cond_timedwait(condition, mutex, &limit) == ETIMEDOUT { return false }
    }
    return true
  }

  /// Waits for the pipe's end.
  func waitForEnd(atMost span: Duration) {
    var limit = timespec()
    clock_gettime(CLOCK_REALTIME, &limit)
    limit.tv_sec += Int(span.components.seconds)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while !ended, pthread_cond_timedwait(condition, mutex, &limit) != ETIMEDOUT {}
  }

  private func append(_ more: ArraySlice<UInt8>) {
    pthread_mutex_lock(mutex)
    bytes.append(contentsOf: more)
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }

  private func finish() {
    pthread_mutex_lock(mutex)
    ended = true
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }
}
