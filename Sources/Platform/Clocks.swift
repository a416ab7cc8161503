package import Execution
import Glibc

/// The kernel's two clocks, clock_gettime(2).
package enum SystemClock {
  /// CLOCK_BOOTTIME: never set back, and goes on in suspend.
  package static var now: Instant {
    let time = read(CLOCK_BOOTTIME)
    return Instant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }

  /// CLOCK_REALTIME: may jump; for what is stored and shown.
  package static var wallTime: WallTime {
    let time = read(CLOCK_REALTIME)
    return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    // Cannot fail: both clocks exist on every kernel that epoll, timerfd and Swift need.
    clock_gettime(clock, &time)
    return time
  }
}
