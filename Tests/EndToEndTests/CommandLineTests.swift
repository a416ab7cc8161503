import BrewlogAPI
import DemoUpstream
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// `brewlogctl` before the real daemon: what a script sees.
  @Suite(.timeLimit(.minutes(2)))
  struct CommandLineTests {
    @Test func `signed out, signed in, a tip and signed out again`() async throws {
      try await Stage.run(Stage.expired) { stage in
        try expect(run(stage, "tip"), 4)
        let login = try run(
          stage, "login", "--token-stdin",
          input: #"{"accessToken":"dummy-access-0","refreshToken":"dummy-refresh-0"}"#)
        try expect(login, 0)
        let tip = try run(stage, "--json", "tip")
        try expect(tip, 0)
        let entry = try JSONText.decode(Entry.self, from: tip.standardOutput.utf8)
        #expect(entry.provenance.source == .network)
        #expect(
          stage.upstream.lines == [
            "GET /tips/today 401", "POST /auth/refresh 200", "GET /tips/today 200",
          ])
        let plain = try run(stage, "tip")
        try expect(plain, 0)
        #expect(plain.standardOutput.contains(entry.tip.title))
        for command in ["status", "session", "health", "tips", "config"] {
          try expect(run(stage, command), 0)
        }
        try expect(run(stage, "rate", entry.tip.id, "5"), 0)
        try expect(run(stage, "refresh"), 0)

        try expect(run(stage, "logout"), 0)
        let session = try run(stage, "--json", "session")
        try expect(session, 0)
        let inspected = try JSONText.decode(InspectReply.self, from: session.standardOutput.utf8)
        #expect(inspected.consistent)
        #expect(inspected.persisted.state == .signedOut)
        #expect(inspected.persisted.accessTokenFingerprint == nil)
        #expect(inspected.persisted.refreshTokenFingerprint == nil)
        #expect(inspected.persisted.account == nil)
        #expect(inspected.store.cachedTips == 0)
        try expect(run(stage, "tip"), 4)
      }
    }

    @Test func `a bare refresh token signs in`() async throws {
      try await Stage.run { stage in
        try expect(run(stage, "login", "--token-stdin", input: "dummy-refresh-0\n"), 0)
        try expect(run(stage, "tip"), 0)
        #expect(
          stage.upstream.lines == ["POST /auth/refresh 200", "GET /tips/today 200"])
      }
    }

    @Test func `a logout without a session is done`() async throws {
      try await Stage.run { stage in
        let logout = try run(stage, "logout")
        try expect(logout, 0)
        #expect(logout.standardOutput.contains("no session"))
        let json = try run(stage, "--json", "logout")
        try expect(json, 0)
        let reply = try JSONText.decode(LogoutReply.self, from: json.standardOutput.utf8)
        #expect(reply.previousGeneration == reply.generation)
      }
    }

    @Test func `an unknown tip is a failure and a mistake in the arguments is one of usage`()
      async throws
    {
      try await Stage.run { stage in
        try stage.signIn()
        let missing = try run(stage, "tip", "no-such-tip")
        try expect(missing, 1)
        #expect(missing.standardError.contains("no-such-tip"))
        for arguments in [["rate", "bloom", "6"], ["brew"], ["tip", "--max-age", "soon"], []] {
          try expect(run(stage, arguments), 2)
        }
        #expect(stage.upstream.requests(Stage.tipPath("bloom") + "/rating") == 0)
      }
    }

    @Test func `a daemon that does not run is told from one that has no upstream`() async throws {
      try await Stage.run(DemoOptions(), ["Retry": ["MaxRetries=0"]]) { stage in
        try stage.signIn()
        stage.upstream.close()
        let away = try run(stage, "tip")
        try expect(away, 6)
        #expect(away.standardError.contains("no tip can be had"))
        stage.daemon.stop()
        try expect(run(stage, "tip"), 3)
        try expect(run(stage, "status"), 3)
      }
    }

    @Test func `no token is in what the client prints or was started with`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let login = try run(stage, "login", "--token-stdin", input: "dummy-refresh-0")
        for command in [["status"], ["session"], ["--json", "session"], ["--json", "status"]] {
          let child = try run(stage, command)
          for text in [child.standardOutput, child.standardError, login.standardOutput] {
            #expect(!text.contains("dummy-refresh"))
          }
        }
        let refused = try run(stage, "login", "--token-stdin", input: "dummy refresh token")
        try expect(refused, 2)
        #expect(!refused.standardError.contains("dummy"))
      }
    }

    // MARK: Parts

    private func run(
      _ stage: Stage, _ arguments: String..., input: String? = nil
    ) throws -> ChildProcess {
      try run(stage, arguments, input: input)
    }

    private func run(
      _ stage: Stage, _ arguments: [String], input: String? = nil
    ) throws -> ChildProcess {
      let child = try ChildProcess.start(
        Programs.path("brewlogctl"), ["--socket", stage.daemon.socket] + arguments,
        environment: Programs.environment, input: input)
      _ = child.wait()
      return child
    }

    private func expect(
      _ child: ChildProcess, _ code: Int32, _ location: SourceLocation = #_sourceLocation
    ) throws {
      #expect(
        child.wait() == .exited(code), "\(child.standardOutput)\(child.standardError)",
        sourceLocation: location)
    }
  }
}
