import JSON
import TestSupport
import Testing
import Varlink

@testable import Daemon

/// Faults of protocols that others have met (public-reports.md, by their ids), against the real parts
/// in process. What belongs to the wire alone is in VarlinkTests.
@Suite(.timeLimit(.minutes(1)))
struct ReportedProtocolTests {
  private static let status = "org.brewlog.Session.Status"

  @Test func `B150: who ends the sending side after a call still gets the reply`() async throws {
    let fixture = try await GraphFixture()
    let client = try WireClient(fixture.path)
    client.call(Self.status)
    client.endSending()
    #expect(client.reply()?.contains("\"generation\"") == true)
    #expect(client.isClosed())
    await fixture.close()
  }

  @Test func `B151: bytes without an end are cut off at the limit`() async throws {
    let fixture = try await GraphFixture("MaxMessageBytes=64K\n")
    let client = try WireClient(fixture.path)
    let chunk = [UInt8](repeating: 0x20, count: 65_536)
    var sent = 0
    // A gibibyte, if it were taken.
    while sent < 1 << 30, client.send(chunk) { sent += chunk.count }
    #expect(sent < 4 << 20)
    #expect(client.isClosed())
    let other = try WireClient(fixture.path)
    other.call(Self.status)
    #expect(other.reply() != nil)
    await fixture.close()
  }

  @Test(arguments: [100, 300, 511, 100_000], ["[", "{\"a\":"])
  func `B156: deep nesting ends its connection and nothing else`(
    depth: Int, opening: String
  ) async throws {
    let fixture = try await GraphFixture("MaxMessageBytes=1M\n")
    let client = try WireClient(fixture.path)
    let closing = opening == "[" ? "]" : "}"
    let value =
      String(repeating: opening, count: depth) + "1" + String(repeating: closing, count: depth)
    client.call(Self.status, ",\"parameters\":{\"x\":\(value)}")
    #expect(client.isClosed())
    let other = try WireClient(fixture.path)
    other.call(Self.status)
    #expect(other.reply() != nil)
    await fixture.close()
  }

  @Test(
    arguments: [
      ("{\"method\":\"gibberish\"}", "MethodNotFound"), ("{\"method\":\"\"}", "MethodNotFound"),
      ("{\"method\":\".\"}", "InterfaceNotFound"),
      ("{\"method\":\"org.brewlog.Session.None\"}", "MethodNotFound"),
      ("{\"method\":\"org.brewlog.None.Status\"}", "InterfaceNotFound"),
      ("{\"method\":\"org.brewlog.Session.status\"}", "MethodNotFound"), ("{\"method\":1}", nil),
      ("{}", nil), ("[]", nil), ("\"x\"", nil), ("", nil), ("null", nil),
      ("{\"method\":\"a.B\",\"method\":\"a.C\"}", nil),
      ("{\"method\":\"org.brewlog.Session.Status\",\"parameters\":[]}", nil),
      ("{\"method\":\"org.brewlog.Session.Status\",\"parameters\":{\"a\":1,\"a\":2}}", nil),
    ] as [(String, String?)])
  func `B157: what is no call closes and what is no method is an error`(
    message: String, error: String?
  ) async throws {
    let fixture = try await GraphFixture()
    let client = try WireClient(fixture.path)
    client.send(message + "\0")
    if let error {
      #expect(client.reply()?.contains("org.varlink.service.\(error)") == true)
      client.call(Self.status)
      #expect(client.reply() != nil, "the connection can still be used")
    } else {
      #expect(client.isClosed())
    }
    let bytes = try WireClient(fixture.path)
    bytes.send([0xFF, 0xFE, 0])
    #expect(bytes.isClosed())
    let other = try WireClient(fixture.path)
    other.call(Self.status)
    #expect(other.reply() != nil)
    await fixture.close()
  }

  @Test func `replies of the store's thread and of the loop come in order`() async throws {
    // The first two go to the store's thread, the others are answered in place.
    let fixture = try await GraphFixture()
    let client = try WireClient(fixture.path)
    client.call("org.brewlog.Session.Inspect")
    client.call(Self.status)
    client.call("org.brewlog.Session.Inspect")
    client.call("org.brewlog.Service.Health")
    for word in ["\"persisted\"", "\"counters\"", "\"persisted\"", "\"checks\""] {
      #expect(client.reply()?.contains(word) == true, "\(word)")
    }
    await fixture.close()
  }

  @Test func `B160: a stream without more is refused and the connection goes on`() async throws {
    let fixture = try await GraphFixture()
    let client = try WireClient(fixture.path)
    client.call("org.brewlog.Session.Watch")
    client.call(Self.status)
    #expect(client.reply()?.contains("org.varlink.service.ExpectedMore") == true)
    #expect(client.reply()?.contains("\"counters\"") == true)
    await fixture.close()
  }

  @Test func `B163: an event leaves at once and says that more follow`() async throws {
    let fixture = try await GraphFixture()
    let watcher = try WireClient(fixture.path)
    watcher.call("org.brewlog.Session.Watch", ",\"more\":true")
    #expect(watcher.reply()?.contains("\"signedOut\"") == true)
    let other = try WireClient(fixture.path)
    other.call(
      "org.brewlog.Session.ImportCredentials",
      ",\"parameters\":{\"refreshToken\":\"dummy-refresh-0\"}")
    #expect(other.reply()?.contains("\"signedIn\"") == true)
    other.call("org.brewlog.Session.Logout")
    #expect(other.reply()?.contains("\"previousGeneration\"") == true)
    // The logout has been answered: what it did was told before.
    var seen: [String] = []
    while seen.count < 20, let reply = watcher.reply() {
      #expect(reply.contains("\"continues\":true"))
      seen.append(reply)
      if reply.contains("\"signedOut\"") { break }
    }
    #expect(seen.contains { $0.contains("\"imported\"") })
    #expect(seen.last?.contains("\"signedOut\"") == true)
    await fixture.close()
  }

  @Test func `a watch ends with a word for it when the daemon stops`() async throws {
    let fixture = try await GraphFixture()
    let watcher = try WireClient(fixture.path)
    watcher.call("org.brewlog.Session.Watch", ",\"more\":true")
    #expect(watcher.reply() != nil)
    await fixture.close()
    let last = watcher.reply()
    #expect(last?.contains("\"stopping\"") == true)
    #expect(last?.contains("continues") == false)
    #expect(watcher.isClosed())
  }

  @Test func `a client that leaves at any byte takes nothing with it`() async throws {
    let fixture = try await GraphFixture()
    let message = Array(
      "{\"method\":\"\(Self.status)\",\"more\":true}\0{\"method\":\"org.brewlog.Session.Watch\",\"more\":true}\0"
        .utf8)
    for count in 0...message.count {
      let client = try WireClient(fixture.path)
      client.send(Array(message.prefix(count)))
      if count % 2 == 0 { client.reset() }
    }
    let other = try WireClient(fixture.path)
    other.call(Self.status)
    #expect(other.reply() != nil)
    while await fixture.graph.server.connectionCount > 1 { await Task.yield() }
    await fixture.close()
  }
}
