/// A moment on a clock that goes on while the machine sleeps (CLOCK_BOOTTIME), in nanoseconds.
/// Every deadline, backoff and token age is measured with it: a monotonic clock that stands still
/// in suspend hands out tokens that died meanwhile.
package struct Instant: Comparable, Hashable, Sendable {
  package var nanoseconds: UInt64

  package init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  package static let distantFuture = Instant(nanoseconds: .max)

  package static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// Saturates at both ends instead of trapping: spans come from configurations and upstreams.
  package func advanced(by span: Duration) -> Instant {
    let (sum, overflow) = Int64(clamping: nanoseconds).addingReportingOverflow(
      span.clampedNanoseconds)
    if overflow || self == .distantFuture { return .distantFuture }
    return Instant(nanoseconds: UInt64(max(0, sum)))
  }

  package func duration(to other: Instant) -> Duration {
    .nanoseconds(Int64(clamping: other.nanoseconds) - Int64(clamping: nanoseconds))
  }
}

/// A moment on the wall clock, in milliseconds since 1970 (UTC). It is stored and shown; nothing
/// is decided by it but what must survive a restart.
package struct WallTime: Comparable, Hashable, Sendable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  package static func < (left: WallTime, right: WallTime) -> Bool {
    left.milliseconds < right.milliseconds
  }

  package func advanced(by span: Duration) -> WallTime {
    let (sum, overflow) = milliseconds.addingReportingOverflow(span.clampedNanoseconds / 1_000_000)
    return WallTime(milliseconds: overflow ? .max : sum)
  }

  package func duration(to other: WallTime) -> Duration {
    let (difference, overflow) = other.milliseconds.subtractingReportingOverflow(milliseconds)
    return .milliseconds(overflow ? Int64.max / 1_000_000 : difference)
  }
}

extension Duration {
  /// The span in nanoseconds, as far as 64 bits reach (292 years).
  package var clampedNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    if carry { return seconds < 0 ? .min : .max }
    return sum
  }

  /// Whole seconds, rounded up: what a caller is told to wait is never too short.
  package var secondsRoundedUp: Int {
    let nanoseconds = clampedNanoseconds
    if nanoseconds <= 0 { return 0 }
    return Int(nanoseconds / 1_000_000_000 + (nanoseconds % 1_000_000_000 == 0 ? 0 : 1))
  }

  /// Whole seconds, rounded down: an age or a lifetime is never said to be longer than it is.
  package var secondsRoundedDown: Int {
    Int(max(0, clampedNanoseconds) / 1_000_000_000)
  }
}
