import DemoUpstream
import JSON
import Session
import TestSupport
import Testing
import Varlink

@testable import Daemon

/// Callers that know an older state than the daemon's, and those that may not.
@Suite(.timeLimit(.minutes(1)))
struct StaleCallerTests {
  private static let importing = "org.brewlog.Session.ImportCredentials"

  /// Which session is in memory and on disk. When it is refreshed next, and the store's sizes, move by
  /// themselves.
  private static func session(of daemon: DaemonFixture) throws -> [JSONValue?] {
    let reply = try #require(try daemon.ask("org.brewlog.Session.Inspect"))
    let parameters = try JSONText.decode(JSONValue.self, from: Array(reply.utf8))["parameters"]
    let places = try ["inMemory", "persisted"].map { try #require(parameters?[$0]) }
    let fields = [
      "state", "generation", "durable", "rotations", "signedInAt", "accessTokenFingerprint",
      "refreshTokenFingerprint", "lastRefreshAt",
    ]
    return places.flatMap { place in fields.map { place[$0] } }
  }

  @Test func `a refresh token that was replaced here is refused and the session stays`() throws {
    let upstream = try DemoUpstream(DemoOptions())
    defer { upstream.close() }
    let daemon = try DaemonFixture(upstream: upstream.baseURL)
    defer { daemon.end() }
    try daemon.start()
    let old = upstream.tokens
    let parameters =
      ",\"parameters\":{\"accessToken\":\"\(old.access)\",\"refreshToken\":\"\(old.refresh)\"}"
    #expect(try daemon.ask(Self.importing, parameters)?.contains("\"signedIn\"") == true)
    #expect(
      try daemon.ask("org.brewlog.Session.Refresh")?.contains("\"rotations\":1") == true)
    let before = try Self.session(of: daemon)
    // By itself, and beside an access token.
    for refused in [parameters, ",\"parameters\":{\"refreshToken\":\"\(old.refresh)\"}"] {
      let reply = try daemon.ask(Self.importing, refused)
      #expect(reply?.contains("org.brewlog.Session.SpentToken") == true)
      #expect(reply?.contains(old.refresh) == false)
    }
    #expect(try Self.session(of: daemon) == before)
    #expect(upstream.requests("/auth/refresh") == 1)
  }

  @Test func `an import or a logout for another generation changes nothing`() async throws {
    let fixture = try await GraphFixture()
    let client = try WireClient(fixture.path)
    client.call(Self.importing, ",\"parameters\":{\"refreshToken\":\"dummy-refresh-0\"}")
    #expect(client.reply()?.contains("\"signedIn\"") == true)
    let present = await fixture.thread.run { [coordinator = fixture.graph.coordinator] in
      coordinator.assumeIsolated { $0.snapshot().generation.number }
    }
    for other in [present - 1, present + 1] {
      client.call(
        Self.importing,
        ",\"parameters\":{\"refreshToken\":\"dummy-refresh-1\",\"ifGeneration\":\(other)}")
      #expect(client.reply()?.contains("Session.GenerationMoved") == true)
      client.call("org.brewlog.Session.Logout", ",\"parameters\":{\"ifGeneration\":\(other)}")
      #expect(client.reply()?.contains("Session.GenerationMoved") == true)
    }
    client.call("org.brewlog.Session.Status")
    let status = client.reply()
    #expect(status?.contains("\"signedIn\"") == true)
    #expect(status?.contains("\"generation\":\(present)") == true)
    await fixture.close()
  }

  @Test func `who may not is told by CanI which line says so and what to do`() async throws {
    let fixture = try await GraphFixture("[Access]\nRead=1001\nControl=@2002\n")
    func answer(_ method: String, _ uid: UInt32) async throws -> JSONValue {
      let reply = await fixture.reply(
        to: "org.brewlog.Service.CanI", ["method": .string(method)], uid: uid)
      guard case .success(let bytes)? = reply else {
        Issue.record("\(String(describing: reply))")
        return nil
      }
      return try JSONText.decode(JSONValue.self, from: bytes)
    }
    let refused = try await answer("org.brewlog.Session.Logout", 1001)
    #expect(refused["allowed"] == false)
    #expect(refused["rule"]?.string?.contains("Control=@2002") == true)
    #expect(refused["remedy"]?.string?.contains("group 2002") == true)
    let allowed = try await answer("org.brewlog.Session.Status", 1001)
    #expect(allowed["allowed"] == true)
    #expect(allowed["rule"]?.string?.contains("Read=1001") == true)
    #expect(allowed["remedy"]?.string == nil)
    await fixture.close()
  }
}
