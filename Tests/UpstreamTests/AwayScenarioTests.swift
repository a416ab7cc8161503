import Execution
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// Starts before the network, an upstream that stays away, and what that costs in requests and log
/// lines: in virtual time.
@Suite(.timeLimit(.minutes(1)))
struct AwayScenarioTests {
  @Test func `B181: a start without a network refreshes by itself once there is one`() throws {
    let bench = try VirtualBench()
    try bench.signIn(lifetime: .seconds(60))
    bench.api.script { $0.isToken ? .failure(.unreachable) : .normal }
    try bench.restart(after: .seconds(7_200))
    let start = bench.ground.now
    bench.ground.advance(by: .seconds(60))
    #expect(bench.isSignedIn)
    let failures = bench.api.refreshes.count
    #expect((2...7).contains(failures))
    bench.api.script { _ in .normal }
    // The pauses double: the next one is no longer than all before it together, and one more.
    bench.ground.advance(by: start.duration(to: bench.ground.now) + .seconds(5))
    #expect(bench.store.disk.refresh == "dummy-refresh-1")
    #expect(bench.api.refreshes.count == failures + 1)
  }

  @Test func `B182: a start without a network serves the tip that it has`() throws {
    let bench = try VirtualBench()
    try bench.signIn()
    let held = try bench.tip().value()
    bench.api.script { _ in .failure(.unreachable) }
    try bench.restart(after: .seconds(600))
    let fresh = bench.tip(maxAge: nil)
    #expect(try fresh.value().age == .seconds(600))
    #expect(try fresh.value().staleReason == nil)
    let stale = bench.tip()
    bench.ground.advance(by: .seconds(5))
    #expect(try stale.value().cached == held.cached)
    #expect(try stale.value().staleReason?.contains("unreachable") == true)
  }

  /// One client a second, for an hour.
  private func poll(_ bench: VirtualBench, seconds: Int) -> [VirtualCall<TipEntry>] {
    (0..<seconds).map { _ in
      let call = bench.tip()
      bench.ground.advance(by: .seconds(1))
      return call
    }
  }

  enum Trouble: CaseIterable, Sendable {
    case unreachable, forbidden, busy, silent, refresh

    var reply: VirtualAPI.Reply {
      switch self {
      case .unreachable, .refresh: .failure(.unreachable)
      case .forbidden: .failure(.forbidden)
      case .busy: .status(503)
      case .silent: .silence
      }
    }
  }

  @Test(arguments: Trouble.allCases)
  func `B186: an upstream that fails for an hour is asked a few dozen times`(
    trouble: Trouble
  ) throws {
    let bench = try VirtualBench()
    // In one of them the access token ends early, so that a refresh is due first.
    try bench.signIn(lifetime: trouble == .refresh ? .seconds(90) : .seconds(7_200))
    let held = try bench.tip().value()
    bench.api.clear()
    let lines = bench.lines.count
    bench.api.script { _ in trouble.reply }
    let calls = poll(bench, seconds: 3_600)
    #expect((5...48).contains(bench.api.sent.count), "\(bench.api.sent.count)")
    #expect(bench.lines.count - lines <= 60, "\(bench.lines.count - lines)")
    // All but those that wait for a request under way have their answer: what is held.
    let answers = calls.filter(\.isAnswered)
    #expect(answers.count > 3_500)
    for call in answers { #expect(try call.value().cached == held.cached) }
    #expect(bench.isSignedIn)
    print(
      "\(trouble) for an hour: \(bench.api.sent.count) requests, \(bench.lines.count - lines) lines"
    )

    // It is back: noticed within the step of the backoff that it has come to.
    let times = bench.api.sent.map(\.at)
    let step = zip(times, times.dropFirst()).map { $0.duration(to: $1) }.max() ?? .zero
    #expect(step <= .seconds(330), "five minutes, and a silent request's own half")
    bench.api.script { _ in .normal }
    bench.api.clear()
    let back = bench.ground.now
    var last = bench.tip()
    while last.isAnswered == false || (try? last.value().source) != .network {
      bench.ground.advance(by: .seconds(1))
      last = bench.tip()
      if back.duration(to: bench.ground.now) > step + .seconds(10) { break }
    }
    #expect(try last.value().source == .network)
    #expect(back.duration(to: bench.ground.now) <= step + .seconds(1))
  }

  @Test func `an upstream that is back is noticed without a client`() throws {
    let bench = try VirtualBench()
    try bench.signIn(lifetime: .seconds(90))
    _ = try bench.tip().value()
    bench.api.script { _ in .failure(.unreachable) }
    _ = poll(bench, seconds: 120)
    #expect(bench.isAway)
    bench.api.script { _ in .normal }
    // Nobody asks any more. The token has ended meanwhile: refresh and probe both go unasked.
    bench.ground.advance(by: .seconds(400))
    #expect(!bench.isAway)
    #expect(bench.store.disk.refresh == "dummy-refresh-1")
  }

  @Test func `B187: a look-up that is refused at once is tried as the backoff says`() throws {
    let bench = try VirtualBench.expired()
    bench.api.script { _ in .failure(.unreachable) }
    for _ in 0..<1_200 {
      _ = bench.tip()
      bench.ground.advance(by: .milliseconds(100))
    }
    #expect(bench.api.sent.count <= 12)
  }

  @Test func `another upstream after a reload is asked at once`() throws {
    let bench = try VirtualBench()
    try bench.signIn()
    bench.api.script { _ in .failure(.unreachable) }
    _ = poll(bench, seconds: 100)
    bench.api.script { _ in .normal }
    bench.api.clear()
    let requester = bench.requester
    bench.ground.perform {
      requester.assumeIsolated {
        $0.adopt(
          base: VirtualAPI.base, policy: RetryPolicy(), requestTimeout: .seconds(30))
      }
    }
    #expect(try bench.tip().value().source == .network)
  }
}
