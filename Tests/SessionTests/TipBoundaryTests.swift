import Execution
import Requests
import Session
import Simulation
import TestSupport
import Testing
import Tips

@Suite(.timeLimit(.minutes(1)))
struct TipBoundaryTests {
  // MARK: I6

  @Test
  func `a tip of the last session is neither served nor kept`() throws {
    let bench = try Bench.started()
    let first = bench.today()
    bench.ground.run()
    #expect(try first.value().cached.tip.title == "for-access-0")
    #expect(bench.store.disk.tips.count == 1)
    let logout = bench.loggingOut()
    bench.ground.run()
    _ = try logout.value()
    let between = bench.today()
    bench.ground.run()
    #expect(between.isSignedOut)
    #expect(bench.store.disk.tips.isEmpty)
    try bench.signIn("access-b", "refresh-b")
    let cached = bench.today(TipDemand(cacheOnly: true, wait: .zero))
    bench.ground.run()
    #expect(cached.error(TipError.self) != nil)
    let second = bench.today()
    bench.ground.run()
    #expect(try second.value().cached.tip.title == "for-access-b")
  }

  @Test(arguments: [false, true])
  func `a tip that is on its way when the session ends is lost`(signsInAgain: Bool) throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.transport.script(nil, latch: latch)
    let caller = bench.today()
    bench.ground.run()
    if signsInAgain {
      try bench.signIn("access-b", "refresh-b")
    } else {
      let logout = bench.loggingOut()
      bench.ground.run()
      _ = try logout.value()
    }
    latch.open()
    bench.ground.run()
    #expect(caller.isSignedOut)
    #expect(bench.store.disk.tips.isEmpty)
  }

  @Test
  func `a tip that is on its way to the disk when the session ends does not get there`() throws {
    let bench = try Bench.started()
    let put = bench.store.hold(.before, .put)
    let caller = bench.today()
    bench.ground.run()
    _ = try caller.value()
    try bench.signIn("access-b", "refresh-b")
    put.open()
    bench.ground.run()
    #expect(bench.store.disk.tips.isEmpty)
  }

  // MARK: Stale and unchanged

  @Test
  func `an upstream that is away leaves the last tip, said to be stale`() throws {
    let bench = try Bench.started()
    let first = bench.today()
    bench.ground.run()
    _ = try first.value()
    bench.ground.advance(by: .seconds(61))
    for _ in 0..<3 { bench.transport.script(status: 500) }
    let second = bench.today()
    bench.ground.advance(by: .seconds(5))
    let entry = try second.value()
    #expect(entry.source == .cache && entry.staleReason?.contains("500") == true)
    #expect(entry.age >= .seconds(61))
    bench.ground.advance(by: .seconds(700))
    for _ in 0..<3 { bench.transport.script(status: 500) }
    let third = bench.today()
    bench.ground.advance(by: .seconds(5))
    guard case .unavailable = third.error(TipError.self) else {
      Issue.record("served past StaleIfError")
      return
    }
  }

  @Test
  func `a refusal is never covered up by a stale tip`() throws {
    for status in [403, 404] {
      let bench = try Bench.started()
      let first = bench.today()
      bench.ground.run()
      _ = try first.value()
      bench.ground.advance(by: .seconds(61))
      bench.transport.script(status: status)
      let second = bench.today()
      bench.ground.run()
      #expect(second.error(TipError.self) != nil)
    }
  }

  @Test
  func `a tip that has not changed is asked for by its tag, and fresh again`() throws {
    let bench = try Bench.started()
    bench.transport.script(
      status: 200, HTTPField("ETag", "\"v1\""), body: ScriptedTransport.tip("tagged"))
    let first = bench.today()
    bench.ground.run()
    _ = try first.value()
    bench.ground.advance(by: .seconds(61))
    bench.transport.script(status: 304)
    let second = bench.today()
    bench.ground.run()
    let entry = try second.value()
    #expect(entry.source == .revalidated && entry.cached.tip.title == "tagged")
    #expect(bench.transport.sent[1].fields.contains(HTTPField("If-None-Match", "\"v1\"")))
    let third = bench.today()
    bench.ground.run()
    #expect(try third.value().source == .cache)
    #expect(bench.transport.sent.count == 2)
  }

  @Test
  func `many who ask for the tip of the day cost one request`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.transport.script(
      status: 200, body: ScriptedTransport.tip("one"), gate: gate)
    let callers = (0..<50).map { _ in bench.today() }
    bench.ground.run()
    gate.open()
    bench.ground.run()
    for caller in callers { #expect(try caller.value().cached.tip.title == "one") }
    #expect(bench.transport.sent.count == 1)
    #expect(bench.journal.count("put") == 1)
  }
}
