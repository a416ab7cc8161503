import BrewlogAPI
import Glibc
import JSON
import TestSupport
import Testing

@testable import DemoUpstream

extension EndToEnd {
  /// Signing in by the daemon itself, and what ends an attempt.
  @Suite(.timeLimit(.minutes(2)))
  struct LoginTests {
    private static let sections = [
      "Auth": [
        "TokenEndpoint=UPSTREAM/token", "ClientID=dummy-client",
        "DeviceAuthorizationEndpoint=UPSTREAM/device_authorization",
        "AuthorizationEndpoint=UPSTREAM/authorize", "RevocationEndpoint=UPSTREAM/revoke",
      ]
    ]
    private static let codes = Step.json(
      #"{"device_code":"dummy-device","user_code":"BREW-1","interval":1,"expires_in":600,"#
        + #""verification_uri":"https://login.example/device"}"#)

    private func run(_ body: (Stage) async throws -> Void) async throws {
      try await Stage.run(DemoOptions(), Self.sections) { stage in
        stage.upstream.always(.post, "/device_authorization", Self.codes)
        try await body(stage)
      }
    }

    /// What grants the account's present tokens.
    private func grant(_ stage: Stage) -> Step {
      let tokens = stage.upstream.tokens
      return .json(
        #"{"access_token":"\#(tokens.access)","refresh_token":"\#(tokens.refresh)","#
          + #""expires_in":3600,"refresh_expires_in":86400,"account":"ada"}"#)
    }

    private func begin(
      _ stage: Stage, flow: String
    ) throws -> (connection: Connection, attempt: LoginAttempt) {
      let connection = try stage.connect()
      try connection.send(.login, ["flow": .string(flow)], more: true)
      let reply = try connection.receive().decoded(as: LoginReply.self)
      return (connection, try #require(reply.attempt))
    }

    private func session(_ connection: Connection) throws -> Snapshot {
      try #require(try connection.receive().decoded(as: LoginReply.self).session)
    }

    @Test func `who began a sign-in may leave, others join it, all see who it was`() async throws {
      try await run { stage in
        stage.upstream.script(
          .post, "/token",
          [
            .json(#"{"error":"authorization_pending"}"#, status: 400),
            grant(stage).held("person"),
          ])
        let (first, attempt) = try begin(stage, flow: "device")
        #expect(attempt.device?.userCode == "BREW-1")
        #expect(attempt.startedByUid == Int(getuid()))
        #expect(try stage.daemon.status().login == attempt)
        // Joins, although it would have had another flow.
        let (second, joined) = try begin(stage, flow: "browser")
        #expect(joined == attempt)
        first.close()
        #expect(stage.upstream.waitForHold("person"))
        stage.upstream.release("person")
        let session = try session(second)
        #expect(session.state == .signedIn)
        #expect(session.account == "ada" && session.accountVerified)
        #expect(session.loginNeededBy != nil)
        #expect(session.loginNeededBasis?.contains("the upstream says") == true)
        #expect(try stage.daemon.status().login == nil)
        #expect(stage.upstream.requests("/device_authorization") == 1)
        #expect(try stage.daemon.today().provenance.source == .network)
        let events = try stage.daemon.call(.history, as: HistoryReply.self).events
        let login = events.filter { ["loginPending", "signedIn"].contains($0.kind.name) }
        #expect(login.map(\.kind.name) == ["signedIn", "loginPending"])
        #expect(login.allSatisfy { $0.actorUid == Int(getuid()) })
      }
    }

    enum End: CaseIterable, Sendable { case cancelLogin, logout, importCredentials }

    @Test(arguments: End.allCases)
    func `an attempt ends with CancelLogin and any move of the generation`(end: End) async throws {
      try await run { stage in
        let daemon = stage.daemon
        stage.upstream.script(.post, "/token", [grant(stage).held("person")])
        let (connection, attempt) = try begin(stage, flow: "device")
        // The grant is on its way.
        #expect(stage.upstream.waitForHold("person"))
        switch end {
        case .cancelLogin:
          _ = try daemon.call(.cancelLogin, ["id": .string(attempt.id)], as: EmptyReply.self)
          #expect(try daemon.status().login == nil)
        case .logout: _ = try daemon.call(.logout, as: LogoutReply.self)
        case .importCredentials: try stage.signIn(with: stage.upstream.signIn())
        }
        guard case .loginFailed = try connection.receive().error else {
          Issue.record("the attempt did not end")
          return
        }
        stage.upstream.release("person")
        let session = try daemon.status().session
        #expect(session.state == (end == .importCredentials ? .signedIn : .signedOut))
        #expect(session.account != "ada")
        guard
          case .noSuchLogin(attempt.id) = try daemon.outcome(
            .cancelLogin, ["id": .string(attempt.id)]
          ).error
        else {
          Issue.record("it can be cancelled again")
          return
        }
        #expect(stage.upstream.requests("/token") == 1)
      }
    }

    @Test func `a sign-in begun right after the last was cancelled is a new one`() async throws {
      try await run { stage in
        stage.upstream.always(
          .post, "/token", .json(#"{"error":"authorization_pending"}"#, status: 400))
        let (_, attempt) = try begin(stage, flow: "device")
        let connection = try stage.connect()
        try connection.send(.cancelLogin, ["id": .string(attempt.id)])
        let (_, next) = try begin(stage, flow: "device")
        #expect(next.id != attempt.id)
        guard case .reply = try connection.receive() else {
          Issue.record("not cancelled")
          return
        }
        #expect(try stage.daemon.status().login?.id == next.id)
      }
    }

    @Test func `a denied sign-in leaves the present session alone`() async throws {
      try await run { stage in
        let before = try stage.signIn()
        stage.upstream.script(
          .post, "/token", [.json(#"{"error":"access_denied"}"#, status: 400)])
        let (connection, _) = try begin(stage, flow: "device")
        guard case .loginFailed(_, "access_denied") = try connection.receive().error else {
          Issue.record("not denied")
          return
        }
        let after = try stage.daemon.status().session
        #expect(after.generation == before.generation && after.state == .signedIn)
      }
    }

    /// The way of a host without a browser.
    @Test func `a pasted address is taken if it belongs to the attempt`() async throws {
      try await run { stage in
        stage.upstream.script(.post, "/token", [grant(stage)])
        let (connection, attempt) = try begin(stage, flow: "browser")
        let query = Form.fields(
          of: String(try #require(attempt.authorizeUri?.split(separator: "?").last)))
        let redirect = try #require(query["redirect_uri"])
        #expect(redirect.hasPrefix("http://127.0.0.1:"))
        #expect(query["code_challenge_method"] == "S256")
        let state = try #require(query["state"])
        for wrong in [
          "\(redirect)?code=dummy-code&state=another", "\(redirect)?code=dummy-code", "BREW-1",
          "https://evil.example/?code=dummy-code&state=\(state)",
        ] {
          let outcome = try stage.daemon.outcome(
            .completeLogin, ["id": .string(attempt.id), "redirectedTo": .string(wrong)])
          guard case .loginFailed(let reason, nil) = outcome.error else {
            Issue.record("\(wrong) was taken: \(outcome)")
            continue
          }
          #expect(!reason.contains("dummy-code"))
        }
        #expect(try stage.daemon.status().login == attempt)
        let reply = try stage.daemon.call(
          .completeLogin,
          [
            "id": .string(attempt.id),
            "redirectedTo": .string("\(redirect)?code=dummy-code&state=\(state)"),
          ], as: SessionReply.self)
        #expect(reply.session.state == .signedIn)
        #expect(try session(connection).generation == reply.session.generation)
        let sent = try #require(stage.upstream.log.first { $0.path == "/token" })
        #expect(sent.fields["grant_type"] == "authorization_code")
        #expect(sent.fields["redirect_uri"] == redirect)
        #expect(sent.fields["code_verifier"]?.isEmpty == false)
        #expect(!stage.daemon.log.contains("dummy-code"))
      }
    }

    @Test func `a logout does not wait for the revocation, which is tried until it is taken`()
      async throws
    {
      try await run { stage in
        let daemon = stage.daemon
        stage.upstream.script(
          .post, "/revoke", [Step.respond(status: 503).held("revocation"), .respond(status: 200)])
        stage.upstream.always(.post, "/revoke", .respond(status: 200))
        try stage.signIn()
        let reply = try daemon.call(.logout, as: LogoutReply.self)
        #expect(reply.revocation == .queued)
        #expect(stage.upstream.waitForHold("revocation"))
        #expect(try daemon.status().pendingRevocations == 1)
        stage.upstream.release("revocation")
        try daemon.waitForStatus("the revocation is done") { $0.pendingRevocations == 0 }
        let kinds = try daemon.call(.history, as: HistoryReply.self).events.map(\.kind.name)
        let seen = kinds.filter { $0.hasPrefix("revocation") }
        #expect(seen == ["revocationDone", "revocationFailed"])
        let sent = stage.upstream.log.filter { $0.path == "/revoke" }
        #expect(sent.map { $0.fields["token"] } == ["refresh-0", "refresh-0", "access-0"])
      }
    }
  }
}
