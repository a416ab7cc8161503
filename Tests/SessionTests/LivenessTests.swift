import Execution
import Session
import TestSupport
import Testing

/// What the watchdog goes by.
@Suite(.timeLimit(.minutes(1)))
struct LivenessTests {
  @Test func `an exchange that hangs is no hang of the coordinator until it should have ended`()
    throws
  {
    let bench = try Bench.started()
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    let caller = bench.refreshing()
    bench.ground.run()
    bench.ground.advance(by: .seconds(90))
    #expect(caller.isAnswered)
    #expect(!bench.look { $0.isOverdue })
    #expect(bench.look { $0.isFinishing })
    bench.ground.advance(by: .seconds(11))
    #expect(bench.look { $0.isOverdue })
    gate.open()
    bench.ground.run()
    #expect(!bench.look { $0.isOverdue })
    #expect(!bench.look { $0.isFinishing })
  }

  @Test func `a pair on its way to the disk is unstored until it is there`() throws {
    let bench = try Bench.started()
    let latch = bench.store.hold(.before, .commit)
    _ = bench.refreshing()
    bench.ground.run()
    #expect(bench.look { $0.pairIsUnstored })
    latch.open()
    bench.ground.run()
    #expect(!bench.look { $0.pairIsUnstored })
  }

  @Test func `a pair that the store refuses is unstored until it takes it`() throws {
    let bench = try Bench.started()
    bench.store.fail(.commit, .full)
    _ = bench.refreshing()
    bench.ground.run()
    #expect(bench.look { $0.pairIsUnstored })
    bench.ground.advance(by: .seconds(2))
    #expect(!bench.look { $0.pairIsUnstored })
  }

  @Test func `a reload changes the policy at once, and forgives a fault of the configuration`()
    throws
  {
    let bench = try Bench.started()
    bench.endpoint.script(.failure(RefreshFailure(.misconfigured, reason: "no such client")))
    _ = bench.refreshing()
    bench.ground.run()
    let held = bench.refreshing()
    bench.ground.run()
    #expect(held.error() != nil)
    bench.look { $0.adopt(SessionPolicy()) }
    let free = bench.refreshing()
    bench.ground.run()
    #expect(throws: Never.self) { try free.value() }
  }
}
