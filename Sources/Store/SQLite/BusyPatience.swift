import CSQLite
import Execution
import Glibc
import Platform

/// How a connection waits for a lock that another process holds: in short naps, up to a bound. SQLite
/// can do that itself, but the watchdog has to see that the thread waits and is not stuck.
final class BusyPatience {
  private let timeout: Duration
  private var started = Instant(nanoseconds: 0)
  /// False: a lock that is held is the answer at once.
  var isGiven = true

  init(timeout: Duration) {
    self.timeout = timeout
  }

  /// The connection keeps a bare pointer to this object, so it must not outlive it: both belong to
  /// one ``Database``, which closes the connection first.
  func attach(to connection: OpaquePointer) {
    sqlite3_busy_handler(
      connection,
      { context, count in
        guard let context else { return 0 }
        let patience = Unmanaged<BusyPatience>.fromOpaque(context).takeUnretainedValue()
        return patience.nap(count) ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// `count` is how often this lock was waited for already; false: give up.
  private func nap(_ count: Int32) -> Bool {
    guard isGiven else { return false }
    let now = SystemClock.now
    if count == 0 { started = now }
    let left = timeout - started.duration(to: now)
    guard left > .zero else { return false }
    StoreProgress.wait()
    let milliseconds = min(1 << min(Int(count), 6), 50)
    usleep(UInt32(min(milliseconds * 1_000, max(1, left.clampedNanoseconds / 1_000).asInt)))
    return true
  }
}

extension Int64 {
  fileprivate var asInt: Int { Int(clamping: self) }
}
