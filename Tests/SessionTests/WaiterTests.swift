import Execution
import Requests
import Session
import Simulation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct WaiterTests {
  private func refreshing(_ bench: Bench, gate: Gate) -> Pending<SessionSnapshot> {
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    let first = bench.refreshing()
    bench.ground.run()
    return first
  }

  @Test
  func `one waiter leaves at once, the others are untouched`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    let first = refreshing(bench, gate: gate)
    let second = bench.refreshing()
    let third = bench.refreshing()
    bench.ground.run()
    second.cancel()
    bench.ground.run()
    #expect(second.error() == .cancelled)
    #expect(!first.isAnswered && !third.isAnswered)
    gate.open()
    bench.ground.run()
    _ = try (first.value(), third.value())
  }

  @Test
  func `the one who began it may leave, too`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    let first = refreshing(bench, gate: gate)
    let second = bench.refreshing()
    bench.ground.run()
    first.cancel()
    bench.ground.run()
    #expect(first.error() == .cancelled)
    gate.open()
    bench.ground.run()
    _ = try second.value()
    #expect(bench.endpoint.sent.count == 1)
  }

  @Test
  func `each is answered at its own deadline, and by the refresh's own`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    let first = refreshing(bench, gate: gate)
    let hasty = bench.refreshing(within: .seconds(2))
    let patient = bench.refreshing(within: .seconds(3600))
    bench.ground.run()
    bench.ground.advance(by: .milliseconds(1999))
    #expect(!hasty.isAnswered)
    bench.ground.advance(by: .milliseconds(1))
    #expect(hasty.error() == .timedOut)
    bench.ground.advance(by: .seconds(18))
    #expect(first.error() == .timedOut && patient.error() == .timedOut)
    // What comes after that is stored all the same.
    gate.open()
    bench.ground.run()
    #expect(bench.store.disk.row?.refresh == "refresh-1")
  }

  @Test
  func `a thousand waiters get one answer each`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    _ = refreshing(bench, gate: gate)
    let waiters = (0..<1000).map { _ in bench.refreshing() }
    bench.ground.run()
    waiters[500].cancel()
    bench.ground.run()
    #expect(waiters.filter(\.isAnswered).count == 1)
    gate.open()
    bench.ground.run()
    #expect(waiters.allSatisfy { $0.isAnswered })
    #expect(waiters.filter { $0.error() != nil }.count == 1)
    #expect(bench.endpoint.sent.count == 1)
  }

  @Test
  func `a caller that has left before it waits is not kept`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    _ = refreshing(bench, gate: gate)
    let late = bench.refreshing()
    late.cancel()
    bench.ground.run()
    #expect(late.error() == .cancelled)
    gate.open()
    bench.ground.run()
  }

  @Test
  func `those who share a request leave and time out alone`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.transport.script(status: 200, body: "tip", gate: gate)
    let first = bench.getting()
    bench.ground.run()
    let leaving = bench.getting()
    let hasty = bench.getting(within: .seconds(1))
    let staying = bench.getting()
    bench.ground.run()
    first.cancel()
    leaving.cancel()
    bench.ground.run()
    #expect(
      first.error(RequestError.self) == .cancelled && leaving.error(RequestError.self) == .cancelled
    )
    bench.ground.advance(by: .seconds(1))
    #expect(hasty.error(RequestError.self) == .timedOut)
    gate.open()
    bench.ground.run()
    #expect(try staying.value() == "tip")
    #expect(bench.transport.sent.count == 1)
  }
}
