import BrewlogAPI
import DemoUpstream
import FoundationEssentials
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// Races and late results that others have met, where the daemon itself is needed for the scenario.
  /// The ids name the scenarios; the others are in `Tests/SessionTests` and `Tests/Simulation`.
  @Suite(.timeLimit(.minutes(2)))
  struct RaceScenarioTests {
    @Test func `B02: five calls in one write cost one refresh and are answered in their order`()
      async throws
    {
      try await Stage.run(Stage.expired) { stage in
        try stage.signIn()
        let client = try stage.connect()
        let ids = Stage.tipIDs.prefix(5)
        try client.send(together: ids.map { (.get, ["id": .string($0)]) })
        for id in ids { #expect(try client.receive().decoded(as: Entry.self).tip.id == id) }
        #expect(stage.refreshTokensSent == ["refresh-0"])
      }
    }

    @Test func `B09: a refresh that is never answered ends by itself, and the next one starts`()
      async throws
    {
      try await Stage.run(Stage.expired, ["Refresh": ["Deadline=1s"]]) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        upstream.script(.post, Stage.refreshPath, [.hold("never").workingAfterwards])
        try stage.signIn()
        guard case .unavailable = try daemon.outcome(.today).error else {
          Issue.record("not Unavailable")
          return
        }
        try daemon.waitForStatus("the exchange has been given up") {
          $0.counters.refreshesFailed == 1
        }
        #expect(try daemon.status().session.state == .signedIn)
        try daemon.wait("the next one has started", asking: { try daemon.outcome(.refresh) }) {
          $0.error == nil
        }
        #expect(try daemon.today().provenance.source == .network)
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-0"])
        #expect(upstream.peak(Stage.refreshPath) <= 2, "the one that was given up, and the next")
      }
    }

    @Test func `B12: an old copy of the store ends in one refusal, and stays there`() async throws {
      try await Stage.run { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let copy = daemon.directory + "/copy"
        try stage.signIn()
        #expect(daemon.stop() == .exited(0))
        try FileManager.default.copyItem(atPath: daemon.stateDirectory, toPath: copy)
        try daemon.start()
        _ = try daemon.call(.refresh, as: SessionReply.self)
        #expect(daemon.stop() == .exited(0))
        try FileManager.default.removeItem(atPath: daemon.stateDirectory)
        try FileManager.default.moveItem(atPath: copy, toPath: daemon.stateDirectory)
        upstream.expireAccessTokens()
        for _ in 0..<2 {
          try daemon.start()
          for _ in 0..<2 {
            guard case .tipsSignedOut(_, let reason) = try daemon.outcome(.today).error else {
              Issue.record("not SignedOut")
              return
            }
            #expect(!reason.isEmpty)
          }
          daemon.stop()
        }
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-0"])
      }
    }

    @Test(arguments: [401, 403, 404])
    func `B30: a logout succeeds whatever the upstream says to the revocation`(
      status: Int
    ) async throws {
      let auth = [
        "TokenEndpoint=UPSTREAM/token", "RevocationEndpoint=UPSTREAM/revoke",
        "ClientID=dummy-client",
      ]
      try await Stage.run(DemoOptions(), ["Auth": auth]) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        upstream.always(.post, "/revoke", .json("{}", status: status))
        try stage.signIn()
        _ = try daemon.today()
        let logout = try daemon.call(.logout, as: LogoutReply.self)
        #expect(logout.generation > logout.previousGeneration)
        try #require(upstream.waitForRequests("/revoke", count: 1))
        let inspected = try daemon.inspect()
        #expect(inspected.persisted.state == .signedOut)
        #expect(inspected.persisted.refreshTokenFingerprint == nil)
        #expect(inspected.inMemory.accessTokenFingerprint == nil)
        #expect(inspected.store.cachedTips == 0)
      }
    }

    @Test func `B34: a sign-in that fails leaves the present session alone`() async throws {
      let auth = [
        "TokenEndpoint=UPSTREAM/token", "DeviceAuthorizationEndpoint=UPSTREAM/device_authorization",
        "ClientID=dummy-client",
      ]
      try await Stage.run(DemoOptions(), ["Auth": auth]) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let session = try stage.signIn()
        let tip = try daemon.today().tip
        upstream.script(
          .post, "/device_authorization", [.json(#"{"error":"invalid_client"}"#, status: 400)])
        for isUp in [true, false] {
          if !isUp { upstream.close() }
          guard case .loginFailed = try daemon.outcome(.login, ["flow": "device"]).error else {
            Issue.record("not LoginFailed")
            return
          }
          let status = try daemon.status().session
          #expect(status.state == .signedIn)
          #expect(status.generation == session.generation)
          #expect(status.refreshTokenFingerprint == session.refreshTokenFingerprint)
          #expect(try daemon.today().tip == tip)
        }
      }
    }
  }
}
