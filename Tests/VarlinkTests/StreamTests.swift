import Glibc
import Platform
import TestSupport
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct StreamTests {
  @Test func `a stream sends at once and ends with its last reply`() async throws {
    let gate = Gate()
    let fixture = try await ServerFixture { _, _ in
      .stream { stream in
        for number in 1...2 {
          do { try stream.send(Array(#"{"n":\#(number)}"#.utf8)) } catch { return success() }
        }
        await gate.wait()
        return success(#"{"n":3}"#)
      }
    }
    let client = try fixture.connect()
    client.call("Stream", #","more":true"#)
    #expect(client.reply() == #"{"parameters":{"n":1},"continues":true}"#)
    #expect(client.reply() == #"{"parameters":{"n":2},"continues":true}"#)
    gate.open()
    #expect(client.reply() == #"{"parameters":{"n":3}}"#)
    await fixture.close()
  }

  @Test func `a stream without more is refused and the connection stays usable`() async throws {
    let fixture = try await ServerFixture { call, _ in
      call.method.hasSuffix("Stream") ? .stream { _ in success() } : .now(success())
    }
    let client = try fixture.connect()
    client.call("Stream")
    #expect(client.reply() == #"{"error":"org.varlink.service.ExpectedMore","parameters":{}}"#)
    client.call("Now", #","more":true"#)
    #expect(client.reply() == #"{"parameters":{}}"#)
    client.call("Stream", #","oneway":true"#)
    client.call("Now")
    #expect(client.reply() == #"{"parameters":{}}"#)
    await fixture.close()
  }

  @Test func `a stream whose client has gone is cancelled without an event to send`() async throws {
    let gate = Gate()
    let over = Gate()
    let fixture = try await ServerFixture { _, _ in
      .stream { stream in
        await gate.wait()
        let isEnded: Bool
        do throws(StreamFailure) {
          try stream.send([])
          isEnded = false
        } catch {
          isEnded = error == .ended
        }
        if Task.isCancelled && isEnded { await over.wait() }
        return success()
      }
    }
    do {
      let client = try fixture.connect()
      client.call("Stream", #","more":true"#)
      await gate.arrived(1)
    }
    await over.arrived(1)
    over.open()
    await fixture.connections(become: 0)
    await fixture.close()
  }

  @Test func `a slow reader ends a stream with the producer's own error`() async throws {
    var limits = Limits()
    limits.maxUnreadBytes = 100_000
    let full = Gate()
    let fixture = try await ServerFixture(limits: limits) { _, _ in
      .stream { stream in
        let event = Array(#"{"text":"\#(String(repeating: "x", count: 10_000))"}"#.utf8)
        for _ in 0..<100_000 {
          do throws(StreamFailure) { try stream.send(event) } catch {
            full.open()
            return .failure(VarlinkError(name: "org.example.Test.TooSlow"))
          }
        }
        return success()
      }
    }
    let client = try fixture.connect()
    client.call("Stream", #","more":true"#)
    await full.wait()
    var last: String?
    while let reply = client.reply() {
      last = reply
      if !reply.hasSuffix(#""continues":true}"#) { break }
    }
    #expect(last == #"{"error":"org.example.Test.TooSlow","parameters":{}}"#)
    client.call("org.varlink.service.GetInfo")
    #expect(client.reply() != nil)
    await fixture.close()
  }

  @Test func `a stop ends streams`() async throws {
    let gate = Gate()
    let fixture = try await ServerFixture { _, _ in
      .stream { _ in
        await gate.wait()
        return .failure(VarlinkError(name: "org.example.Test.Over"))
      }
    }
    let client = try fixture.connect()
    client.call("Stream", #","more":true"#)
    await gate.arrived(1)
    await fixture.server.stop()
    #expect(client.reply() == #"{"error":"org.example.Test.Over","parameters":{}}"#)
    #expect(client.reply() == nil)
    await fixture.close()
  }
}
