import BrewlogAPI
import DemoUpstream
import Glibc
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// Faults that others have met, on the built daemon: what a rotation, a stop or another account
  /// can cost. Each name begins with its scenario's number.
  @Suite(.timeLimit(.minutes(2)))
  struct ScenarioTests {
    @Test(arguments: [SIGTERM, SIGKILL])
    func `B17: after a restart the new refresh token is the one that is sent`(
      signal: Int32
    ) async throws {
      try await Stage.run { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        try stage.signIn()
        _ = try daemon.call(.refresh, as: SessionReply.self)
        daemon.stop(signal)
        upstream.expireAccessTokens()
        try daemon.start()
        #expect(try daemon.today().provenance.source == .network)
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-1"])
      }
    }

    @Test func `B21: a stop that cannot store what came says so, in the log and by its code`()
      async throws
    {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let client = try stage.holdingRefresh(behind: .refresh)
        defer { withExtendedLifetime(client) {} }
        try daemon.limitFiles(bytes: "0")
        let process = try daemon.process
        process.send(SIGTERM)
        try #require(process.waitForOutput("stopping", onError: true))
        upstream.release("refresh")
        #expect(process.wait() == .exited(74))
        #expect(process.standardError.contains("could not be stored"))
        // What the disk still has is whole: the pair before, and that its outcome is not known.
        daemon.end()
        try daemon.start()
        #expect(try daemon.status().session.rotations == 0)
        #expect(try daemon.inspect().consistent)
      }
    }

    @Test func `B22: a lost answer is no burst of replays, and the end says what is not known`()
      async throws
    {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        upstream.script(.post, Stage.refreshPath, [.loseAnswer])
        try stage.signIn()
        guard case .unavailable = try daemon.outcome(.today).error else {
          Issue.record("not Unavailable")
          return
        }
        #expect(try daemon.status().session.state == .signedIn)
        let sent = stage.refreshTokensSent.count
        let outcome = try daemon.wait(
          "the backoff is over", asking: { try daemon.outcome(.today) }
        ) { if case .failure(.unavailable) = $0 { false } else { true } }
        guard case .tipsSignedOut(_, let reason) = outcome.error else {
          Issue.record("not SignedOut but \(outcome)")
          return
        }
        #expect(reason.contains("not known"), "\(reason)")
        #expect(sent == 1 && stage.refreshTokensSent == ["refresh-0", "refresh-0"])
        daemon.crash()
        try daemon.start()
        _ = try daemon.outcome(.today)
        #expect(stage.refreshTokensSent.count == 2, "no loop")
      }
    }

    @Test func `B24: each refresh sends the token that the one before it brought`() async throws {
      try await Stage.run { stage in
        let daemon = stage.daemon
        try stage.signIn()
        for _ in 0..<2 { _ = try daemon.call(.refresh, as: SessionReply.self) }
        daemon.crash()
        try daemon.start()
        _ = try daemon.call(.refresh, as: SessionReply.self)
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-1", "refresh-2"])
      }
    }

    @Test func `B98: a second account never gets the first one's tip`() async throws {
      let sections = ["Retry": ["MaxRetries=0"]]
      try await Stage.run(DemoOptions(), sections) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        try stage.signIn()
        _ = try daemon.today()
        _ = try daemon.call(.logout, as: LogoutReply.self)
        upstream.script(.get, Stage.todayPath, [.json("{}", status: 503).held("tip")])
        try stage.signIn(with: upstream.signIn())
        let client = try stage.connect()
        try client.send(.today)
        try #require(upstream.waitForHold("tip"))
        upstream.release("tip")
        guard case .unavailable = try client.receive().error else {
          Issue.record("not Unavailable")
          return
        }
        #expect(try daemon.inspect().store.cachedTips == 0)
      }
    }

    @Test func `B104: after another account's sign-in nothing carries the first one's token`()
      async throws
    {
      try await Stage.run { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        try stage.signIn()
        _ = try daemon.today()
        _ = try daemon.call(.logout, as: LogoutReply.self)
        try stage.signIn(with: upstream.signIn())
        _ = try daemon.today()
        let bearers = upstream.log.filter { $0.path == Stage.todayPath }.map(\.bearer)
        #expect(bearers == ["access-0", "access-1"])
      }
    }

    @Test func `B105: without a cached tip nothing is asked whether it has changed`() async throws {
      try await Stage.run { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        try stage.signIn()
        let tip = try daemon.today().tip
        daemon.stop()
        // The tips alone are gone; the session is not.
        for suffix in ["", "-wal", "-shm"] { unlink(daemon.stateDirectory + "/tips.db" + suffix) }
        try daemon.start()
        #expect(try daemon.today().tip == tip)
        let asked = upstream.log.filter { $0.path == Stage.todayPath }
        #expect(asked.map { $0.headers["if-none-match"] } == [nil, nil])
        // An upstream that says so all the same has answered nothing.
        upstream.script(.get, Stage.tipPath("bloom"), [.respond(status: 304)])
        #expect(try daemon.outcome(.get, ["id": "bloom"]).error != nil)
      }
    }
  }
}
