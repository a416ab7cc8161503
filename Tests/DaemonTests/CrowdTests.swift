import Testing

/// Many clients that behave badly in every way, and one that does not: counts and order, not speed.
@Suite(.timeLimit(.minutes(2)))
struct CrowdTests {
  private static let status = "org.brewlog.Session.Status"

  @Test func `an honest client is served in order among three hundred bad ones`() async throws {
    let fixture = try await GraphFixture()
    let deaf = try (0..<100).map { _ in try WireClient(fixture.path) }
    for client in deaf { for _ in 0..<20 { client.call("org.brewlog.Service.Metrics") } }
    let slow = try (0..<100).map { _ in try WireClient(fixture.path) }
    let watchers = try (0..<100).map { _ in try WireClient(fixture.path) }
    for watcher in watchers {
      watcher.call("org.brewlog.Session.Watch", ",\"more\":true")
      #expect(watcher.reply()?.contains("\"signedOut\"") == true)
    }
    let message = Array("{\"method\":\"\(Self.status)\"}\0".utf8)
    let honest = try WireClient(fixture.path)
    for byte in message {
      for client in slow { client.send([byte]) }
      honest.call(Self.status)
      honest.call("org.brewlog.Service.Health")
      #expect(honest.reply()?.contains("\"counters\"") == true)
      #expect(honest.reply()?.contains("\"checks\"") == true)
    }
    // Slowness alone costs nobody his reply.
    for client in slow { #expect(client.reply()?.contains("\"counters\"") == true) }
    honest.call(
      "org.brewlog.Session.ImportCredentials",
      ",\"parameters\":{\"refreshToken\":\"dummy-refresh-0\"}")
    // Calls of one connection may run at the same time.
    #expect(honest.reply()?.contains("\"signedIn\"") == true)
    honest.call("org.brewlog.Session.Logout")
    #expect(honest.reply()?.contains("\"previousGeneration\"") == true)
    // Every second watcher reads on, and has missed nothing.
    for (number, watcher) in watchers.enumerated() where number % 2 == 0 {
      var seen: [String] = []
      while seen.last?.contains("\"signedOut\"") != true {
        seen.append(try #require(watcher.reply()))
      }
      #expect(seen.contains { $0.contains("\"imported\"") })
    }
    await fixture.close()
  }
}
