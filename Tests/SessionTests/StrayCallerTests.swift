import Execution
import Requests
import Session
import Simulation
import TestSupport
import Testing

/// Callers whose tasks prefer another executor: they are enqueued anew from one function of an actor
/// to the next, and anything fits in between.
@Suite(.timeLimit(.minutes(1)))
struct StrayCallerTests {
  private let elsewhere = ManualGround()

  private func call<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) -> Pending<Value> {
    let pending = Pending<Value>()
    pending.run(on: elsewhere, body)
    return pending
  }

  private func turn(_ ground: ManualGround) {
    for _ in 0..<20 {
      elsewhere.run()
      ground.run()
    }
  }

  /// Does something on a ground after so many other jobs there.
  private func after(
    _ jobs: Int, on ground: ManualGround, _ body: @escaping @Sendable () -> Void
  ) {
    Task(executorPreference: ground) {
      for _ in 0..<jobs { await Task.yield() }
      body()
    }
  }

  @Test func `one that has left before it waits is not kept`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    bench.transport.script(status: 200, gate: gate)
    let deadline = bench.ground.now.advanced(by: .seconds(20))
    let endpoint = Endpoint<Int>(
      .get, "/tips/today", repetition: .idempotent, interpret: { $0.status })
    let waiter = call { [it = bench.coordinator] in try await it.refresh(by: deadline) }
    let sharer = call { [it = bench.requester] in
      try await it.send(endpoint, by: deadline).value
    }
    waiter.cancel()
    sharer.cancel()
    turn(bench.ground)
    #expect(waiter.error() == .cancelled)
    #expect(sharer.error(RequestError.self) == .cancelled)
    gate.open()
    turn(bench.ground)
  }

  @Test func `a sleeper that has left before it sleeps is woken at once`() throws {
    let ground = ManualGround()
    let sleeper = Sleeper(ground: ground)
    let end = ground.now.advanced(by: .seconds(60))
    let sleep = call { await sleeper.sleep(until: end) }
    sleep.cancel()
    turn(ground)
    #expect(try sleep.value() == false)
    #expect(ground.timerCount == 0)
  }

  @Test func `a sleeper that leaves takes its timer along, and one that stays sleeps on`() throws {
    let ground = ManualGround()
    let sleeper = Sleeper(ground: ground)
    let end = ground.now.advanced(by: .seconds(60))
    let (leaving, staying) = (
      call { await sleeper.sleep(until: end) }, call { await sleeper.sleep(until: end) }
    )
    turn(ground)
    #expect(ground.timerCount == 2)
    leaving.cancel()
    turn(ground)
    #expect(try leaving.value() == false)
    #expect(!staying.isAnswered && ground.timerCount == 1)
    ground.advance(by: .seconds(60))
    turn(ground)
    #expect(try staying.value())
  }

  @Test(arguments: 0..<12)
  func `one that joins what ends just then is answered as the others are`(jobs: Int) throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    let refresh = bench.refreshing()
    bench.transport.script(status: 200, body: "tip", gate: gate)
    let request = bench.getting()
    bench.ground.run()
    let deadline = bench.ground.now.advanced(by: .seconds(20))
    let endpoint = Endpoint<String>(
      .get, "/tips/today", repetition: .idempotent,
      interpret: { String(decoding: $0.body, as: UTF8.self) })
    let waiter = call { [it = bench.coordinator] in try await it.refresh(by: deadline) }
    let sharer = call { [it = bench.requester] in
      try await it.send(endpoint, by: deadline).value
    }
    elsewhere.run()
    after(jobs, on: bench.ground) { gate.open() }
    turn(bench.ground)
    _ = try refresh.value()
    _ = try request.value()
    #expect(waiter.isAnswered && waiter.error() == nil)
    #expect(sharer.isAnswered && sharer.error(RequestError.self) == nil)
  }
}
