import JSON
import TestSupport
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct PendingCallsTests {
  private static let limits = {
    var limits = Limits()
    limits.maxPendingCalls = 2
    return limits
  }()

  @Test func `calls past the bound wait and are all answered`() async throws {
    let gate = Gate()
    let fixture = try await ServerFixture(limits: Self.limits) { call, _ in
      .later {
        await gate.wait()
        return success(#"{"n":\#(call.parameters["n"]?.integer ?? 0)}"#)
      }
    }
    let client = try fixture.connect()
    for number in 0..<10 { client.call("Later", #","parameters":{"n":\#(number)}"#) }
    client.endSending()
    await gate.arrived(2)
    // The loop has been through all that the client sent by the time that it serves another.
    let other = try fixture.connect()
    other.call("org.varlink.service.GetInfo")
    #expect(other.reply() != nil)
    #expect(gate.arrivals == 2)
    gate.open()
    for number in 0..<10 { #expect(client.reply() == #"{"parameters":{"n":\#(number)}}"#) }
    #expect(client.reply() == nil)
    await fixture.close()
  }

  @Test func `a client that is not read from is seen to leave`() async throws {
    let gate = Gate()
    let cancelled = Gate()
    let fixture = try await ServerFixture(limits: Self.limits) { _, _ in
      .later {
        await gate.wait()
        if Task.isCancelled { await cancelled.wait() }
        return success()
      }
    }
    do {
      let client = try fixture.connect()
      for _ in 0..<10 { client.call("Later") }
      await gate.arrived(2)
    }
    await cancelled.arrived(2)
    await fixture.connections(become: 0)
    #expect(gate.arrivals == 2)
    await fixture.close()
  }
}
