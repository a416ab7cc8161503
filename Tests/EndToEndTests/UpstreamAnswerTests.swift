import BrewlogAPI
import DemoUpstream
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// What an answer means for the session, through the whole daemon.
  @Suite(.timeLimit(.minutes(2)))
  struct UpstreamAnswerTests {
    /// An answer to a refresh that says nothing about the refresh token.
    struct Disturbance: Sendable, CustomTestStringConvertible {
      var testDescription: String
      var step: Step

      init(_ name: String, _ step: Step) {
        testDescription = name
        self.step = step
      }
    }

    @Test(arguments: [
      Disturbance(
        "a captive portal",
        .respond(
          status: 200, headers: [("Content-Type", "text/html")],
          body: "<html>Welcome to the hotel</html>")),
      Disturbance("a proxy's 403", .respond(status: 403, body: "forbidden")),
      Disturbance("a proxy's 401", .respond(status: 401, body: "<html>log in</html>")),
      Disturbance(
        "a redirect", .respond(status: 302, headers: [("Location", "http://127.0.0.1:1/login")])),
      Disturbance("a failure", .json("{}", status: 500)),
      Disturbance("a wait", .respond(status: 429, headers: [("Retry-After", "60")])),
      Disturbance("an empty answer", .respond(status: 204)),
      Disturbance("a token of another type", .json(#"{"token":7}"#)),
      Disturbance("no answer", .drop),
      Disturbance("a reset", .reset),
      Disturbance("half an answer", Step.json(#"{"token":"x","more":1}"#).truncated(afterBytes: 9)),
    ])
    func `no disturbance on the way ends the session`(disturbance: Disturbance) async throws {
      try await Stage.run(DemoOptions(), ["Cache": ["FreshFor=0"]]) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let session = try stage.signIn()
        let tip = try daemon.today().tip
        upstream.expireAccessTokens()
        upstream.script(.post, Stage.refreshPath, [disturbance.step])
        let stale = try daemon.today()
        #expect(stale.tip == tip)
        #expect(stale.provenance.stale)
        let status = try daemon.status()
        #expect(status.session.state == .signedIn)
        #expect(status.session.generation == session.generation)
        #expect(status.session.refreshTokenFingerprint == session.refreshTokenFingerprint)
        #expect(status.session.lastRefreshError?.isEmpty == false)
        #expect(stage.refreshTokensSent == ["refresh-0"], "one refresh is one request")
      }
    }

    private static let oauth = [
      "Auth": ["TokenEndpoint=UPSTREAM/token", "ClientID=dummy-client"],
      "Cache": ["FreshFor=0"],
    ]

    @Test func `the dialect oauth2 refreshes with the refresh token grant`() async throws {
      try await Stage.run(Stage.expired, Self.oauth) { stage in
        try stage.signIn()
        #expect(try stage.daemon.today().provenance.source == .network)
        let sent = stage.upstream.log.filter { $0.path == "/token" }
        #expect(sent.count == 1)
        #expect(sent.first?.fields["grant_type"] == "refresh_token")
        #expect(sent.first?.fields["refresh_token"] == "refresh-0")
        #expect(sent.first?.fields["client_id"] == "dummy-client")
        let session = try stage.daemon.status().session
        #expect(session.rotations == 1)
        #expect(session.scope == "tips")
        #expect(session.accessTokenExpiresAt != nil)
      }
    }

    @Test func `the dialect oauth2 ends the session at invalid_grant`() async throws {
      try await Stage.run(Stage.expired, Self.oauth) { stage in
        try stage.signIn()
        stage.upstream.revokeAll()
        guard case .tipsSignedOut(_, let reason) = try stage.daemon.outcome(.today).error else {
          Issue.record("not SignedOut")
          return
        }
        #expect(reason.contains("invalid_grant"))
        #expect(try stage.daemon.inspect().persisted.state == .signedOut)
      }
    }

    @Test func `a client that the upstream does not know is not tried again`() async throws {
      try await Stage.run(Stage.expired, Self.oauth) { stage in
        stage.upstream.always(
          .post, "/token", .json(#"{"error":"invalid_client"}"#, status: 401))
        try stage.signIn()
        for _ in 0..<3 {
          guard case .refreshFailed(let reason, nil) = try stage.daemon.outcome(.refresh).error
          else {
            Issue.record("not RefreshFailed without a wait")
            return
          }
          #expect(reason.contains("invalid_client"))
        }
        #expect(stage.upstream.requests("/token") == 1)
        #expect(try stage.daemon.status().session.state == .signedIn)
      }
    }

    @Test func `an access token alone ends at its first rejection`() async throws {
      try await Stage.run(DemoOptions(), Self.oauth) { stage in
        _ = try stage.daemon.call(
          .importCredentials, ["accessToken": .string(stage.upstream.tokens.access)],
          as: SessionReply.self)
        #expect(try stage.daemon.today().provenance.source == .network)
        stage.upstream.expireAccessTokens()
        guard case .tipsSignedOut = try stage.daemon.outcome(.today).error else {
          Issue.record("not SignedOut")
          return
        }
        #expect(stage.upstream.requests("/token") == 0)
      }
    }

    @Test func `a configuration that names another upstream suspends the session`() async throws {
      try await Stage.run { stage in
        let daemon = stage.daemon
        let session = try stage.signIn()
        #expect(daemon.stop() == .exited(0))
        let other = try DemoUpstream()
        defer { other.close() }
        try daemon.use(upstream: other.baseURL)
        try daemon.start()
        let suspended = try daemon.status().session
        #expect(suspended.state == .suspended)
        #expect(suspended.reason?.contains(other.baseURL) == true)
        guard case .tipsSuspended = try daemon.outcome(.today).error,
          case .suspended = try daemon.outcome(.refresh).error
        else {
          Issue.record("not Suspended")
          return
        }
        #expect(other.log.isEmpty, "no token goes to another origin (I11)")

        let resumed = try daemon.call(.resume, as: SessionReply.self).session
        #expect(resumed.state == .signedIn)
        #expect(resumed.generation == session.generation)
        #expect(try daemon.today().provenance.source == .network)
        #expect(other.log.first?.bearer == "access-0")
        daemon.crash()
        try daemon.start()
        #expect(try daemon.status().session.state == .signedIn)
      }
    }
  }
}
