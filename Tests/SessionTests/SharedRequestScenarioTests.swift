import Execution
import Requests
import Session
import Simulation
import TestSupport
import Testing
import Tips

/// Equal requests under way at once, and callers that leave: faults that others have met. The ids
/// name the scenarios.
@Suite(.timeLimit(.minutes(1)))
struct SharedRequestScenarioTests {
  @Test func `B107: the next account's equal request is its own`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.transport.script(nil, latch: latch)
    let first = bench.today()
    bench.ground.run()
    let logout = bench.loggingOut()
    bench.ground.run()
    _ = try logout.value()
    try bench.signIn("access-b", "refresh-b")
    let second = bench.today()
    bench.ground.run()
    #expect(first.isSignedOut)
    #expect(try second.value().cached.tip.title == "for-access-b")
    latch.open()
    bench.ground.run()
    #expect(bench.transport.sent.map(\.token) == ["access-0", "access-b"])
    let held = bench.today()
    bench.ground.run()
    #expect(try held.value().cached.tip.title == "for-access-b")
  }

  @Test func `B108: another language is another request, and posts are never merged`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    for _ in 0..<4 { bench.transport.script(status: 200, gate: gate) }
    let callers = ["de", "en"].map {
      bench.getting("/tips/today", fields: [HTTPField("Accept-Language", $0)])
    }
    let post = Endpoint<String>(
      .post, "/tips/1/rating", repetition: .idempotent, interpret: { _ in "posted" })
    let deadline = bench.ground.now.advanced(by: .seconds(30))
    let posts = (0..<2).map { _ in
      bench.call { [requester = bench.requester] in
        try await requester.send(post, by: deadline).value
      }
    }
    bench.ground.run()
    #expect(bench.transport.sent.filter { $0.method == .get }.count == 2)
    #expect(bench.transport.sent.filter { $0.method == .post }.count == 2)
    gate.open()
    bench.ground.run()
    for caller in callers + posts { _ = try caller.value() }
  }

  @Test func `B111: the same fields in any order and spelling are the same request`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.transport.script(status: 200, body: "tip", gate: gate)
    let fields = [("Accept", "a"), ("Accept-Language", "de"), ("X-One", "1"), ("X-Two", "2")]
    let callers = (0..<10).map { turn in
      let order = (0..<4).map { fields[($0 * (turn % 2 == 0 ? 1 : 3) + turn) % 4] }
      return bench.getting(
        fields: order.map { HTTPField(turn % 3 == 0 ? $0.0.lowercased() : $0.0, $0.1) })
    }
    bench.ground.run()
    #expect(bench.transport.sent.count == 1)
    gate.open()
    bench.ground.run()
    for caller in callers { #expect(try caller.value() == "tip") }
  }

  @Test func `B112: a failed attempt is not handed to those who come later`() throws {
    let bench = try Bench.started()
    for _ in 0..<3 { bench.transport.script(status: 503) }
    let waiting = (0..<3).map { _ in bench.getting() }
    bench.ground.advance(by: .seconds(5))
    for caller in waiting {
      guard case .unavailable(_, 503, _) = caller.error(RequestError.self) else {
        Issue.record("not unavailable")
        return
      }
    }
    let sent = bench.transport.sent.count
    #expect(sent == 3)
    bench.ground.advance(by: .seconds(60))
    let next = bench.getting()
    bench.ground.run()
    #expect(try next.value().contains("for-access-0"))
    #expect(bench.transport.sent.count == sent + 1)
  }

  @Test func `B113: the first of five leaves, and four get their tip`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.transport.script(nil, gate: gate)
    let callers = (0..<5).map { _ in bench.today() }
    bench.ground.run()
    callers[0].cancel()
    bench.ground.run()
    #expect(callers[0].isAnswered)
    gate.open()
    bench.ground.run()
    for caller in callers.dropFirst() { #expect(try caller.value().source == .network) }
    #expect(bench.transport.sent.count == 1)
  }

  @Test func `B114: who calls after the one that began the refresh has left joins it`() throws {
    let bench = try Bench.started()
    bench.transport.accept("access-1")
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    let first = bench.getting("/tips/a")
    bench.ground.run()
    #expect(bench.endpoint.sent == ["refresh-0"])
    first.cancel()
    bench.ground.run()
    #expect(first.isAnswered)
    let second = bench.getting("/tips/b")
    bench.ground.run()
    gate.open()
    bench.ground.run()
    #expect(try second.value().contains("for-access-1"))
    #expect(bench.endpoint.sent == ["refresh-0"])
  }

  @Test func `B116: a hasty caller is answered in time, and the flight goes on`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.transport.script(nil, gate: gate)
    let patient = bench.getting(within: .seconds(30))
    bench.ground.run()
    let hasty = bench.getting(within: .seconds(1))
    bench.ground.advance(by: .milliseconds(999))
    #expect(!hasty.isAnswered)
    bench.ground.advance(by: .milliseconds(1))
    #expect(hasty.error(RequestError.self) == .timedOut)
    bench.ground.advance(by: .seconds(19))
    #expect(!patient.isAnswered)
    gate.open()
    bench.ground.run()
    #expect(try patient.value().contains("for-access-0"))
    #expect(bench.transport.sent.count == 1)
  }

  @Test func `B117: callers that leave are no failures of the upstream`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    for _ in 0..<20 { bench.transport.script(nil, gate: gate) }
    let callers = (0..<20).map { bench.getting("/tips/\($0)") }
    bench.ground.run()
    for caller in callers { caller.cancel() }
    bench.ground.run()
    #expect(callers.allSatisfy { $0.error(RequestError.self) == .cancelled })
    #expect(bench.ground.perform { bench.requester.assumeIsolated { $0.away == nil } })
    #expect(bench.snapshot.activity == .idle && bench.snapshot.lastRefreshError == nil)
    #expect(bench.journal.all.allSatisfy { !$0.hasPrefix("refreshFailed") })
    gate.open()
    let last = bench.getting()
    bench.ground.run()
    #expect(try last.value().contains("for-access-0"))
    #expect(bench.endpoint.sent.isEmpty)
  }
}
