import DemoUpstream
import Execution
import Glibc
import Platform

/// Tells of the moments in which this machine gave nobody a turn: a caller's time may be over then
/// although its answer was there, and that is nobody's fault.
struct Stillness {
  let upstream: DemoUpstream
  let ledger: Ledger

  private static let pause = Duration.milliseconds(100)
  private static let worth = Duration.seconds(1)

  /// On a thread of its own.
  func watch(until isOver: () -> Bool) {
    var last = SystemClock.now
    var requests = upstream.arrivals
    while !isOver() {
      usleep(UInt32(Self.pause / .microseconds(1)))
      let now = SystemClock.now
      let present = upstream.arrivals
      if last.duration(to: now) > Self.worth {
        ledger.stoodStill(requests...max(requests, present))
      }
      (last, requests) = (now, present)
    }
  }
}
