import Glibc
import Platform
import TestSupport
import Testing

@testable import Varlink

/// What one client may have of the loop before the others have theirs.
@Suite(.timeLimit(.minutes(1)))
struct TurnTests {
  @Test func `a client's burst is cut into turns and another's call comes between`() async throws {
    var limits = Limits()
    limits.callsPerTurn = 4
    let order = Locked<[UInt64]>([])
    let isHeld = Locked(true)
    let fixture = try await ServerFixture(limits: limits) { call, caller in
      order.withLock { $0.append(caller.connection) }
      // The loop itself waits here, in the first turn, until both have sent all.
      if call.method.hasSuffix("Later") { while isHeld.withLock({ $0 }) { sched_yield() } }
      return .now(success())
    }
    let other = try fixture.connect()
    other.call("Now")
    #expect(other.reply() != nil)
    let flood = try fixture.connect()
    flood.call("Later")
    while order.withLock({ $0.count }) < 2 { await Task.yield() }
    flood.send(
      String(repeating: "{\"method\":\"org.example.Test.Now\"}\0", count: 200))
    other.call("Now")
    isHeld.withLock { $0 = false }
    #expect(other.reply() != nil)
    for _ in 0..<201 { #expect(flood.reply() != nil) }
    let first = order.withLock { $0.dropFirst().firstIndex(of: 1) } ?? .max
    // Behind the turn that was held, and before the burst is through.
    #expect(first < 20)
    await fixture.close()
  }
}
