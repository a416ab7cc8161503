import Execution
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// Rate limits, waits that were asked for, and herds: faults that others have met, in virtual time.
@Suite(.timeLimit(.minutes(1)))
struct RateScenarioTests {
  private func wait(of call: VirtualCall<TipEntry>) -> Int? {
    guard case .unavailable(_, _, let wait) = call.error(TipError.self) else { return nil }
    return wait?.secondsRoundedUp
  }

  @Test func `B58: a refresh that was told to wait waits, restarts included`() throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.status(429, [HTTPField("Retry-After", "120")]), .normal)
    let first = (0..<5).map { _ in bench.tip() }
    #expect(first.allSatisfy { wait(of: $0) == 120 })
    try bench.restart(after: .seconds(30))
    let second = (0..<5).map { _ in bench.tip() }
    #expect(second.allSatisfy { wait(of: $0) == 90 })
    bench.ground.advance(by: .seconds(89))
    #expect(bench.api.refreshes.count == 1)
    bench.ground.advance(by: .seconds(1))
    #expect(try bench.tip().value().source == .network)
    #expect(bench.api.refreshes.count == 2)
  }

  /// A limit by the day, and a server that is overloaded: that one is believed for an hour.
  @Test(arguments: [(429, 86_400), (503, 3_600)])
  func `B58: a wait beyond an hour holds over restarts, too`(status: Int, seconds: Int) throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.status(status, [HTTPField("Retry-After", "86400")]), .normal)
    #expect(wait(of: bench.tip()) == seconds)
    try bench.restart(after: .seconds(600))
    #expect(wait(of: bench.tip()) == seconds - 600)
    try bench.restart(after: .seconds(seconds - 601))
    _ = bench.tip()
    #expect(bench.api.refreshes.count == 1)
    bench.ground.advance(by: .seconds(1))
    #expect(try bench.tip().value().source == .network)
  }

  /// Neither the refresh's nor the tips' wait is broken by another network.
  @Test func `B59: a wait that was asked for holds when the network changes`() throws {
    let bench = try VirtualBench()
    try bench.signIn()
    bench.api.answerTips(.status(503, [HTTPField("Retry-After", "120")]), .normal)
    #expect(wait(of: bench.tip(wait: .seconds(2))) == 120)
    let requester = bench.requester
    for _ in 0..<11 {
      bench.ground.advance(by: .seconds(10))
      bench.ground.perform { requester.assumeIsolated { $0.networkChanged() } }
      _ = bench.tip(wait: .seconds(2))
    }
    #expect(bench.api.tips.count == 1)
    bench.ground.advance(by: .seconds(10))
    #expect(bench.api.tips.count == 2)
    #expect(try bench.tip().value().source == .network)
  }

  @Test func `B59: a tip is asked for again when the upstream has said, not before`() throws {
    let bench = try VirtualBench()
    try bench.signIn()
    bench.api.answerTips(.status(503, [HTTPField("Retry-After", "5")]), .normal)
    #expect(wait(of: bench.tip(wait: .seconds(2))) == 5)
    #expect(bench.api.tips.count == 1)

    let patient = try VirtualBench()
    try patient.signIn()
    patient.api.answerTips(.status(503, [HTTPField("Retry-After", "5")]), .normal)
    let call = patient.tip(wait: .seconds(20))
    patient.ground.advance(by: .milliseconds(4_999))
    #expect(!call.isAnswered)
    #expect(patient.api.tips.count == 1)
    patient.ground.advance(by: .milliseconds(1))
    #expect(try call.value().source == .network)
    #expect(patient.api.tips.count == 2)
  }

  /// Another request is the probe when the wait is over; the ones that waited are sent all the same.
  @Test func `B59: all who were told to wait are served after it`() throws {
    let bench = try VirtualBench()
    try bench.signIn()
    let busy = VirtualAPI.Reply.later(
      .milliseconds(50), .status(503, [HTTPField("Retry-After", "5")]))
    bench.api.answerTips(busy, busy, .later(.milliseconds(100), .normal))
    let tips = bench.tips
    let calls = ["a", "b"].map { id in
      bench.begin { try await tips.fetch(.item(id), TipDemand(wait: .seconds(20))) }
    }
    bench.ground.run()
    bench.ground.advance(by: .seconds(6))
    for call in calls { #expect(try call.value().source == .network) }
  }

  @Test func `B59: a 429 is not tried again, and the wait is handed on`() throws {
    let bench = try VirtualBench()
    try bench.signIn()
    bench.api.answerTips(.status(429, [HTTPField("Retry-After", "5")]), .normal)
    #expect(wait(of: bench.tip()) == 5)
    bench.ground.advance(by: .seconds(60))
    #expect(bench.api.tips.count == 1)
    #expect(bench.api.refreshes.isEmpty)
  }

  /// The ground's wall clock starts at 2027-01-15 08:00:00 UTC.
  @Test(arguments: [
    ("Fri, 15 Jan 2027 08:00:30 GMT", 30), ("Friday, 15-Jan-27 08:00:30 GMT", 30),
    ("Fri Jan 15 08:00:30 2027", 30), ("Fri, 15 Jan 2027 07:00:00 GMT", 1), ("-5", 1), ("abc", 1),
    ("1.5", 1), ("", 1), ("0", 1), ("30", 30),
  ])
  func `B60: a wait is read in every form, and one that cannot be read is the backoff's`(
    value: String, seconds: Int
  ) throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.status(429, [HTTPField("Retry-After", value)]), .normal)
    #expect(wait(of: bench.tip()) == seconds)
    bench.ground.advance(by: .seconds(seconds) - .milliseconds(1))
    _ = bench.tip()
    #expect(bench.api.refreshes.count == 1)
    bench.ground.advance(by: .milliseconds(1))
    #expect(try bench.tip().value().source == .network)
  }

  @Test func `B63: the number of refreshes follows the backoff, not the number of clients`() throws
  {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.later(.milliseconds(50), .status(503)))
    for _ in 0..<100 {
      for _ in 0..<50 { _ = bench.tip() }
      bench.ground.advance(by: .milliseconds(100))
    }
    // At 0, 1, 3 and 7 seconds and a little.
    #expect(bench.api.refreshes.count == 4)
    #expect(bench.api.mostOpen == 1)
  }

  @Test func `B64: hosts whose tokens end together do not refresh together`() throws {
    let spans = try (0..<20).map { _ in
      let bench = try VirtualBench(jitter: 0.1)
      try bench.signIn(lifetime: .seconds(3600))
      let start = bench.ground.now
      bench.ground.advance(by: .seconds(3599))
      return start.duration(to: try #require(bench.api.refreshes.first).at)
    }
    #expect(Set(spans).count > 10)
    #expect(spans.allSatisfy { $0 < .seconds(3600) && $0 > .seconds(3500) })
  }

  @Test func `B65: who needs a refresh while one is held back is told when`() throws {
    let bench = try VirtualBench()
    bench.api.answerRefreshes(.status(503, [HTTPField("Retry-After", "60")]), .normal)
    try bench.signIn(lifetime: .seconds(120))
    // The proactive one, a minute before the end.
    bench.ground.advance(by: .seconds(60))
    #expect(bench.api.refreshes.count == 1)
    bench.ground.advance(by: .seconds(5))
    bench.api.rejectAccess()
    let call = bench.tip()
    #expect(wait(of: call) == 55)
    #expect(bench.api.refreshes.count == 1)
    bench.ground.advance(by: .seconds(55))
    #expect(try bench.tip().value().source == .network)
  }
}
