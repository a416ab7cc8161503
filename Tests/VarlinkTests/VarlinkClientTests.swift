import Glibc
import JSON
import Platform
import TestSupport
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct VarlinkClientTests {
  private func error(
    _ body: () throws(ClientError) -> Void
  ) -> ClientError? {
    do throws(ClientError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  @Test func `parameters and replies cross whole, nested ones too`() async throws {
    let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
    let fixture = try await ServerFixture { call, _ in
      .now(success(#"{"n":\#(call.parameters["n"]?.integer ?? 0),"deep":\#(deep)}"#))
    }
    var client = try VarlinkClient(connectingTo: fixture.path)
    let reply = try client.call("org.example.Test.Now", ["n": 7], timeout: .seconds(10))
    #expect(reply["n"] == 7)
    #expect(client.serverCredentials.uid == getuid())
    #expect(client.serverCredentials.pid == getpid())
    await fixture.close()
  }

  @Test func `a socket that nobody serves is unreachable`() throws {
    let scratch = try ScratchDirectory()
    let path = scratch.path("none")
    let failure = error { () throws(ClientError) in _ = try VarlinkClient(connectingTo: path) }
    #expect(failure == .unreachable(path: path, code: ENOENT))
  }

  @Test func `a call that is not answered in time ends and closes`() async throws {
    let gate = Gate()
    let fixture = try await ServerFixture { _, _ in
      .later {
        await gate.wait()
        return success()
      }
    }
    var client = try VarlinkClient(connectingTo: fixture.path)
    #expect(
      throws: ClientError.timedOut
    ) { try client.call("org.example.Test.Later", timeout: .milliseconds(20)) }
    #expect(
      throws: ClientError.connectionClosed
    ) { try client.call("org.example.Test.Now", timeout: .milliseconds(20)) }
    await fixture.connections(become: 0)
    await fixture.close()
  }

  @Test func `a stream shows each reply and then lets go on`() async throws {
    let fixture = try await ServerFixture { call, _ in
      guard call.more else { return .now(success()) }
      return .stream { stream in
        for number in 1...3 {
          do { try stream.send(Array(#"{"n":\#(number)}"#.utf8)) } catch { break }
        }
        return success(#"{"n":4}"#)
      }
    }
    var client = try VarlinkClient(connectingTo: fixture.path)
    var seen: [JSONValue?] = []
    try client.stream("org.example.Test.Stream", timeout: .seconds(10)) { reply in
      seen.append(reply["n"])
      return true
    }
    #expect(seen == [1, 2, 3, 4])
    #expect(try client.call("org.example.Test.Now", timeout: .seconds(10)) == [:])
    seen = []
    try client.stream("org.example.Test.Stream", timeout: .seconds(10)) { reply in
      seen.append(reply["n"])
      return false
    }
    #expect(seen == [1])
    #expect(
      throws: ClientError.connectionClosed
    ) { try client.call("org.example.Test.Now", timeout: .seconds(10)) }
    await fixture.close()
  }

  @Test func `a stream whose first reply does not come in time ends`() async throws {
    let gate = Gate()
    let fixture = try await ServerFixture { _, _ in
      .stream { _ in
        await gate.wait()
        return success()
      }
    }
    var client = try VarlinkClient(connectingTo: fixture.path)
    var ticks = 0
    #expect(throws: ClientError.timedOut) {
      try client.stream(
        "org.example.Test.Stream", first: .milliseconds(50), alongside: { [] },
        tick: .milliseconds(5)
      ) { step in
        if case .tick = step { ticks += 1 }
        return true
      }
    }
    #expect(ticks > 0)
    await fixture.close()
  }

  @Test func `after its first reply a stream may be silent for as long as it likes`() async throws {
    let gate = Gate()
    let fixture = try await ServerFixture { _, _ in
      .stream { stream in
        do { try stream.send(Array("{}".utf8)) } catch { return success() }
        await gate.wait()
        return success()
      }
    }
    var client = try VarlinkClient(connectingTo: fixture.path)
    var replies = 0
    var hasTicked = false
    // The reply after the first comes once the time for the first has passed.
    let first = Duration.seconds(3)
    let end = ContinuousClock.now.advanced(by: first)
    try client.stream(
      "org.example.Test.Stream", first: first, alongside: { [] }, tick: .milliseconds(5)
    ) { step in
      switch step {
      case .reply: replies += 1
      case .tick:
        hasTicked = replies == 1 && ContinuousClock.now > end
        if hasTicked { gate.open() }
      case .ready: break
      }
      return true
    }
    #expect(replies == 2)
    #expect(hasTicked)
    await fixture.close()
  }

  @Test func `an unknown field of a reply is ignored and a reply that is none is a violation`()
    async throws
  {
    let fixture = try await ServerFixture { call, _ in
      .now(success(call.parameters["bad"] == nil ? #"{},"later":[1]"# : "oops"))
    }
    var client = try VarlinkClient(connectingTo: fixture.path)
    #expect(try client.call("org.example.Test.Now", timeout: .seconds(10)) == [:])
    var failure: ClientError?
    do throws(ClientError) {
      _ = try client.call("org.example.Test.Now", ["bad": true], timeout: .seconds(10))
    } catch {
      failure = error
    }
    guard case .protocolViolation = failure else {
      Issue.record("no violation but \(String(describing: failure))")
      return
    }
    await fixture.close()
  }
}
