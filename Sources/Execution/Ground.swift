/// Names one timer of a ``Ground``.
package struct TimerID: Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// Where actors run and what time it is there. In the daemon it is the event loop; in the
/// simulation a script that picks the next job and turns the clock. All that decides anything gets
/// its executor, its timers and its two clocks from here, so that the code that ships is the code
/// that is explored.
///
/// `schedule` and `cancel` are called on the ground, and the closure runs on it: an actor of the
/// same ground may use `assumeIsolated` in it.
package protocol Ground: SerialExecutor, TaskExecutor {
  var now: Instant { get }
  var wallTime: WallTime { get }
  func schedule(at deadline: Instant, _ fire: @escaping @Sendable () -> Void) -> TimerID
  func cancel(_ timer: TimerID)
}

/// A source of random bytes; the system's in the daemon, a seeded one in the simulation.
package struct Entropy: Sendable {
  package let bytes: @Sendable (_ count: Int) -> [UInt8]

  package init(bytes: @escaping @Sendable (Int) -> [UInt8]) {
    self.bytes = bytes
  }

  package static let system = Entropy { count in
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }

  /// A number in 0 ..< 1, for jitter.
  package func fraction() -> Double {
    let word = bytes(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return Double(word) / 4_294_967_296
  }
}
