import Testing

@testable import Varlink

extension VarlinkServer {
  fileprivate func holds(_ needle: [UInt8]) -> Bool {
    let bytes = Array(buffer.bytes)
    return bytes.indices.contains { bytes[$0...].starts(with: needle) }
  }
}

@Suite(.timeLimit(.minutes(1)))
struct ReceiveBufferTests {
  /// I10: the buffer lives as long as the server, and an import's tokens come through it.
  @Test func `what was read does not stand in the buffer once it is taken over`() async throws {
    let fixture = try await ServerFixture { _, _ in .now(success()) }
    let client = try fixture.connect()
    client.call("Now", ",\"parameters\":{\"refreshToken\":\"dummy-refresh-0\"}")
    #expect(client.reply() != nil)
    #expect(await !fixture.server.holds(Array("dummy-refresh-0".utf8)))
    await fixture.close()
  }
}
