import Execution
import Platform
import Session
import TestSupport
import Testing
import Tips

/// What is answered without entering the tips' isolation: a fresh tip, for a span of time.
@Suite(.timeLimit(.minutes(1)))
struct FreshTipTests {
  private func withTip() throws -> Bench {
    let bench = try Bench.started()
    let tip = bench.today()
    bench.ground.run()
    _ = try tip.value()
    return bench
  }

  private func fresh(_ bench: Bench) throws -> (entry: TipEntry, holds: Range<WallTime>)? {
    let call = bench.call { [tips = bench.tips] in await tips.fresh(.today) }
    bench.ground.run()
    return try call.value()
  }

  @Test func `a fresh tip is the answer until it is a second older`() throws {
    let bench = try withTip()
    bench.ground.advance(by: .milliseconds(2300))
    let (entry, holds) = try #require(try fresh(bench))
    #expect(entry.age.secondsRoundedDown == 2)
    let now = bench.ground.wallTime
    #expect(holds == now..<now.advanced(by: .milliseconds(700)))
  }

  /// The freshness lifetime is 60 s.
  @Test func `a tip that grows stale within the second is the answer for a moment only`() throws {
    let bench = try withTip()
    bench.ground.advance(by: .milliseconds(59_400))
    let holds = try #require(try fresh(bench)).holds
    #expect(holds.upperBound <= bench.ground.wallTime.advanced(by: .milliseconds(600)))
    bench.ground.advance(by: .milliseconds(600))
    #expect(try fresh(bench) == nil)
  }

  enum End: CaseIterable, Sendable { case logout, replacement, stop }

  /// I6.
  @Test(arguments: End.allCases)
  func `the gate is shut when the session ends, and the cache says that it has changed`(
    end: End
  ) throws {
    let bench = try withTip()
    let gate = bench.coordinator.gate
    #expect(gate.isOpen)
    switch end {
    case .logout: _ = bench.loggingOut()
    case .replacement: _ = bench.importing("access-b", "refresh-b")
    case .stop: _ = bench.call { [coordinator = bench.coordinator] in await coordinator.stop() }
    }
    bench.ground.run()
    #expect(gate.isOpen == (end == .replacement))
    #expect(try fresh(bench) == nil)
  }
}
