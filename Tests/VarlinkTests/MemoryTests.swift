import Platform
import Testing

@testable import Varlink

/// A crowd that has left costs nothing.
@Suite(.timeLimit(.minutes(1)))
struct MemoryTests {
  @Test func `memory goes back once those who used it have left`() async throws {
    var limits = Limits()
    limits.memoryPause = .milliseconds(1)
    let times = Locked(0)
    let big = success("{\"text\":\"" + String(repeating: "x", count: 3_000_000) + "\"}")
    let fixture = try await ServerFixture(
      limits: limits, giveBack: { times.withLock { $0 += 1 } }
    ) { call, _ in .now(call.method.hasSuffix("Big") ? big : success()) }
    let honest = try fixture.connect()
    for round in 1...2 {
      let deaf = try fixture.connect()
      deaf.call("Big")
      deaf.call("Big")
      while await fixture.server.heldBytes < 2_000_000 { await Task.yield() }
      #expect(times.withLock { $0 } == round - 1)
      _ = consume deaf
      while times.withLock({ $0 }) < round { await Task.yield() }
    }
    honest.call("Now")
    #expect(honest.reply() != nil)
    await fixture.close()
  }

  @Test func `what was little is not looked at and what is in use is left alone`() {
    var memory = MemoryUse()
    let floor = MemoryUse.floor
    let steps = [
      (floor - 1, false), (0, false), (floor * 4, false), (floor + 1, false), (floor, true),
    ]
    for (present, isDue) in steps {
      let answer = memory.note(present)
      #expect(answer == isDue, "\(present)")
    }
    memory.forget(floor)
    let again = memory.note(floor)
    #expect(!again)
  }
}
