import Execution
import Requests
import Session
import Simulation
import TestSupport
import Testing
import Tips

/// Refreshes that race each other: faults that others have met. The ids name the scenarios. The
/// worlds of `Tests/Simulation` try the same in every order.
@Suite(.timeLimit(.minutes(1)))
struct RefreshScenarioTests {
  /// Signed in with a pair whose access token has expired, and the refresh that begins by itself
  /// held back.
  private func expired(
    answer: ScriptedEndpoint.Answer = .grant(
      access: "access-1", refresh: "refresh-1", lifetime: .seconds(3600))
  ) throws -> (Bench, Gate) {
    let bench = try Bench.started(signedIn: false)
    let gate = Gate()
    bench.endpoint.script(answer, gate: gate)
    try bench.signIn("access-0", "refresh-0", lifetime: .zero)
    return (bench, gate)
  }

  @Test func `B01: twenty callers with an expired token cost one refresh`() throws {
    let (bench, gate) = try expired()
    let callers = (0..<20).map { bench.getting("/tips/\($0)") }
    bench.ground.run()
    gate.open()
    bench.ground.run()
    for caller in callers { #expect(try caller.value().contains("for-access-1")) }
    #expect(bench.endpoint.sent == ["refresh-0"])
    #expect(bench.transport.sent.count == 20)
    #expect(bench.transport.sent.allSatisfy { $0.token == "access-1" })
    #expect(bench.store.disk.row?.refresh == "refresh-1")
  }

  @Test func `B03: a rejection counts for more than the local expiry`() throws {
    let bench = try Bench.started(lifetime: .seconds(3_000))
    bench.transport.accept("access-1")
    let caller = bench.today()
    bench.ground.run()
    #expect(try caller.value().source == .network)
    #expect(bench.endpoint.sent == ["refresh-0"])
    #expect(bench.transport.sent.map(\.token) == ["access-0", "access-1"])
  }

  @Test func `B04: a refresh that brings the rejected token again ends in the 401`() throws {
    let bench = try Bench.started()
    bench.transport.accept("none")
    bench.endpoint.script(.grant(access: "access-0", refresh: "refresh-1", lifetime: nil))
    let caller = bench.getting()
    bench.ground.run()
    guard case .refused(_, 401) = caller.error(RequestError.self) else {
      Issue.record("not refused with 401")
      return
    }
    bench.ground.advance(by: .seconds(600))
    #expect(bench.endpoint.sent == ["refresh-0"])
    #expect(bench.transport.sent.count == 2)
    #expect(bench.store.disk.row?.refresh == "refresh-1")
  }

  @Test func `B06: nothing is sent after a refused refresh`() throws {
    let (bench, gate) = try expired(
      answer: .failure(RefreshFailure(.refused, reason: "invalid_grant", httpStatus: 400)))
    let callers = (0..<3).map { bench.getting("/tips/\($0)") }
    bench.ground.run()
    gate.open()
    bench.ground.run()
    let errors = callers.map { $0.error(RequestError.self) }
    #expect(callers.allSatisfy { $0.isSignedOut })
    #expect(errors.allSatisfy { $0 == errors[0] })
    bench.ground.advance(by: .seconds(600))
    #expect(bench.endpoint.sent == ["refresh-0"])
    #expect(bench.transport.sent.isEmpty)
  }

  @Test func `B07: all who wait for a refresh whose answer is lost are told, and the next starts`()
    throws
  {
    let (bench, gate) = try expired(
      answer: .failure(RefreshFailure(.outcomeUnknown, reason: "closed without an answer")))
    let callers = (0..<10).map { bench.getting("/tips/\($0)", within: .seconds(5)) }
    bench.ground.run()
    gate.open()
    bench.ground.run()
    for caller in callers {
      guard case .session(.refreshFailed(_, _, .some)) = caller.error(RequestError.self) else {
        Issue.record("not RefreshFailed with the wait")
        return
      }
    }
    #expect(bench.snapshot.activity == .backingOff)
    bench.ground.advance(by: .seconds(1))
    let next = bench.getting()
    bench.ground.run()
    #expect(try next.value().contains("for-access-1"))
    #expect(bench.endpoint.sent == ["refresh-0", "refresh-0"])
  }

  @Test func `B10: each expiry costs one refresh, though the first caller always leaves`() throws {
    let bench = try Bench.started(lifetime: .seconds(2))
    for round in 0..<3 {
      let gate = Gate()
      bench.endpoint.script(
        .grant(
          access: "access-\(round + 1)", refresh: "refresh-\(round + 1)", lifetime: .seconds(2)),
        gate: gate)
      bench.ground.advance(by: .seconds(3))
      let leaver = bench.getting("/tips/a")
      let stayer = bench.getting("/tips/b")
      bench.ground.run()
      leaver.cancel()
      bench.ground.run()
      #expect(leaver.error(RequestError.self) == .cancelled)
      #expect(!stayer.isAnswered)
      gate.open()
      bench.ground.run()
      #expect(try stayer.value().contains("for-access-\(round + 1)"))
      #expect(bench.endpoint.sent.count == round + 1)
    }
  }

  @Test func `B14: who comes while the new pair is on its way to the disk gets that`() throws {
    let bench = try Bench.started()
    bench.transport.accept("access-1")
    let commit = bench.store.hold(.before, .commit)
    let first = bench.getting("/tips/a")
    bench.ground.run()
    #expect(commit.isReached)
    let second = bench.getting("/tips/b")
    bench.ground.advance(by: .milliseconds(500))
    #expect(!first.isAnswered && !second.isAnswered)
    commit.open()
    bench.ground.run()
    _ = try (first.value(), second.value())
    #expect(bench.endpoint.sent == ["refresh-0"])
  }

  @Test func `B38: a new sign-in is free of the old one's backoff`() throws {
    let bench = try Bench.started()
    for _ in 0..<3 { bench.endpoint.script(.failure(RefreshFailure(.transient, reason: "away"))) }
    for _ in 0..<3 {
      _ = bench.refreshing()
      bench.ground.advance(by: .seconds(4))
    }
    _ = bench.refreshing()
    bench.ground.run()
    let dead = bench.endpoint.sent.count
    #expect(bench.snapshot.activity == .backingOff || dead == 4)
    bench.transport.accept("access-b")
    try bench.signIn("access-b", "refresh-b", lifetime: .seconds(3600))
    let tip = bench.getting()
    bench.ground.run()
    #expect(try tip.value().contains("for-access-b"))
    let refresh = bench.refreshing()
    bench.ground.run()
    _ = try refresh.value()
    bench.ground.advance(by: .seconds(600))
    #expect(bench.endpoint.sent.dropFirst(dead) == ["refresh-b"])
  }

  enum End: CaseIterable, Sendable { case logout, stop }

  @Test(arguments: End.allCases)
  func `B118: a renewal that is due later does not outlive the session`(end: End) throws {
    let bench = try Bench.started(lifetime: .seconds(600))
    bench.ground.advance(by: .seconds(500))
    switch end {
    case .logout:
      let logout = bench.loggingOut()
      bench.ground.run()
      _ = try logout.value()
    case .stop:
      let stop = bench.call { [coordinator = bench.coordinator] in await coordinator.stop() }
      bench.ground.run()
      #expect(try stop.value())
    }
    bench.ground.advance(by: .seconds(3600))
    #expect(bench.endpoint.sent.isEmpty)
  }
}
