package import Execution

/// Spares an upstream that is away, and its callers the wait: after three requests in a row that
/// failed for want of an upstream, one probe is let through after 1 s, 2 s, 4 s, … at most five
/// minutes; everybody else is answered at once. A value; one for each origin.
package struct Circuit: Equatable, Sendable {
  package enum Admission: Equatable, Sendable {
    case go
    /// The upstream is away; the next probe is so far off.
    case wait(Duration)
  }

  package enum Change: Equatable, Sendable {
    case opened, closed
  }

  private enum State: Equatable {
    case closed(failures: Int)
    /// `promised`: until then the upstream has asked not to be asked, whatever happens meanwhile.
    case open(until: Instant, promised: Instant?, openings: Int)
    case probing(since: Instant, openings: Int)
  }

  private var state = State.closed(failures: 0)
  private let threshold = 3
  private let first = Duration.seconds(1)
  private let longest = Duration.seconds(300)
  private let longestAsked = Duration.seconds(3_600)
  /// A probe that says nothing for so long does not hold the next one back.
  private let probeLimit = Duration.seconds(60)

  package init() {}

  package var isClosed: Bool {
    if case .closed = state { true } else { false }
  }

  /// When the next probe may go; nil: the circuit is closed.
  package var nextProbe: Instant? {
    switch state {
    case .closed: nil
    case .open(let until, _, _): until
    case .probing(let since, _): since.advanced(by: probeLimit)
    }
  }

  package mutating func admit(now: Instant) -> Admission {
    guard let next = nextProbe else { return .go }
    if now < next { return .wait(now.duration(to: next)) }
    state = .probing(since: now, openings: openings)
    return .go
  }

  /// Any whole answer but 408, 5xx: there is an upstream.
  package mutating func succeed() -> Change? {
    let change: Change? = isClosed ? nil : .closed
    state = .closed(failures: 0)
    return change
  }

  /// `asked`: what a 503's `Retry-After` says; the circuit stays open until then.
  @discardableResult
  package mutating func fail(now: Instant, asked: Duration?) -> Change? {
    switch state {
    case .closed(let failures) where failures + 1 < threshold && asked == nil:
      state = .closed(failures: failures + 1)
      return nil
    case .closed:
      open(now, openings: 0, asked)
      return .opened
    case .open(let until, let promised, let openings):
      // A request that was sent before the circuit opened.
      guard let asked else { return nil }
      let end = now.advanced(by: min(asked, longestAsked))
      state = .open(
        until: max(until, end), promised: max(promised ?? end, end), openings: openings)
      return nil
    case .probing(_, let openings):
      open(now, openings: openings + 1, asked)
      return nil
    }
  }

  /// A request ended without saying whether there is an upstream (it was given up). Was it the
  /// probe, the next caller's request is one in its place.
  package mutating func giveUp(now: Instant) {
    if case .probing(_, let openings) = state {
      state = .open(until: now, promised: nil, openings: openings)
    }
  }

  /// The network has changed: the next caller probes at once, or, where the upstream has named a
  /// time, then. Another network's upstream is the same upstream.
  package mutating func probeNow(now: Instant) {
    if case .open(_, let promised, let openings) = state {
      state = .open(until: max(now, promised ?? now), promised: promised, openings: openings)
    }
  }

  private mutating func open(_ now: Instant, openings: Int, _ asked: Duration?) {
    let pause = min(first * (1 << min(openings, 20)), longest)
    let promised = asked.map { now.advanced(by: min($0, longestAsked)) }
    let until = now.advanced(by: pause)
    state = .open(until: max(until, promised ?? until), promised: promised, openings: openings)
  }

  private var openings: Int {
    switch state {
    case .closed: 0
    case .open(_, _, let openings), .probing(_, let openings): openings
    }
  }
}
