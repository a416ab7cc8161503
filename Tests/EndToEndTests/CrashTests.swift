import BrewlogAPI
import DemoUpstream
import TestSupport
import Testing

extension EndToEnd {
  /// `kill -9` at any moment: what was published is there again (I5, I9).
  @Suite(.timeLimit(.minutes(2)))
  struct CrashTests {
    @Test func `after a kill the session and its tips are there while the upstream is away`()
      async throws
    {
      try await Stage.run { stage in
        let daemon = stage.daemon
        let session = try stage.signIn()
        let tip = try daemon.today()
        try waitForStoredTip(daemon)
        daemon.crash()
        stage.upstream.close()
        try daemon.start()
        let restored = try daemon.status().session
        #expect(restored.state == .signedIn)
        #expect(restored.generation == session.generation)
        #expect(restored.account == session.account)
        #expect(restored.accessTokenFingerprint == session.accessTokenFingerprint)
        let cached = try daemon.today()
        #expect(cached.provenance.source == .cache)
        #expect(!cached.provenance.stale)
        #expect(cached.tip == tip.tip)
      }
    }

    @Test func `a tip past its freshness is served as stale while the upstream is away`()
      async throws
    {
      let sections = ["Cache": ["FreshFor=0"], "Retry": ["MaxRetries=0"]]
      try await Stage.run(DemoOptions(), sections) { stage in
        try stage.signIn()
        let tip = try stage.daemon.today()
        try waitForStoredTip(stage.daemon)
        stage.daemon.crash()
        stage.upstream.close()
        try stage.daemon.start()
        let stale = try stage.daemon.today()
        #expect(stale.tip == tip.tip)
        #expect(stale.provenance.stale)
        #expect(stale.provenance.staleReason?.isEmpty == false)
      }
    }

    @Test func `a kill before the upstream has acted leaves a session that works`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        // Held before anything is done, and then cut off: the token is not spent.
        upstream.script(.post, Stage.refreshPath, [.drop.held("refresh")])
        let session = try stage.signIn()
        let client = try stage.connect()
        try client.send(.today)
        try #require(upstream.waitForHold("refresh"))
        daemon.crash()
        #expect(try client.receive() == .end)
        upstream.release("refresh")
        try daemon.start()
        #expect(try daemon.status().session.generation == session.generation)
        let outcome = try todayAfterBackoff(daemon)
        #expect(try outcome.decoded(as: Entry.self).provenance.source == .network)
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-0"])
      }
    }

    @Test func `B16: a kill after the upstream has acted ends a session and says what happened`()
      async throws
    {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        // The token is spent and its answer never read: no daemon could save this session.
        let client = try stage.holdingRefresh(behind: .today)
        defer { withExtendedLifetime(client) {} }
        daemon.crash()
        upstream.release("refresh")
        try daemon.start()
        #expect(try daemon.status().session.state == .signedIn)
        let outcome = try todayAfterBackoff(daemon)
        guard case .tipsSignedOut(_, let reason) = outcome.error else {
          Issue.record("not SignedOut but \(outcome)")
          return
        }
        #expect(reason.contains("not known"), "\(reason)")
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-0"])
        #expect(daemon.log.contains("outcome of the last refresh was not known"), "\(daemon.log)")
        // No loop, not after the next kill either.
        daemon.crash()
        try daemon.start()
        _ = try daemon.outcome(.today)
        #expect(stage.refreshTokensSent.count == 2)
      }
    }

    @Test func `a kill right after an answered logout leaves nothing`() async throws {
      try await Stage.run { stage in
        let daemon = stage.daemon
        try stage.signIn()
        let logout = try daemon.call(.logout, as: LogoutReply.self)
        daemon.crash()
        try daemon.start()
        let inspected = try daemon.inspect()
        #expect(inspected.persisted.state == .signedOut)
        #expect(inspected.persisted.generation == logout.generation)
        #expect(inspected.consistent)
      }
    }

    @Test func `what was answered is in the history, whatever kills the daemon right after`()
      async throws
    {
      try await Stage.run { stage in
        let daemon = stage.daemon
        var answered: [String] = []
        for _ in 0..<6 {
          answered.append("imported \(try stage.signIn().generation)")
          daemon.crash()
          try daemon.start()
          let logout = try daemon.call(.logout, as: LogoutReply.self)
          daemon.crash()
          answered.append("signedOut \(logout.generation)")
          try daemon.start()
        }
        let events = try daemon.call(.history, as: HistoryReply.self).events.reversed()
        #expect(events.map { "\($0.kind.name) \($0.generation)" } == answered)
      }
    }

    /// A refresh that a crash has cut off counts as a failed one: the next waits for its time (I8).
    private func todayAfterBackoff(_ daemon: DaemonFixture) throws -> Connection.Outcome {
      try daemon.wait("the backoff is over", asking: { try daemon.outcome(.today) }) { outcome in
        if case .failure(.unavailable) = outcome { false } else { true }
      }
    }

    /// A tip's way to the disk is not waited for by its caller.
    private func waitForStoredTip(_ daemon: DaemonFixture) throws {
      try daemon.wait("the tip is on disk", asking: { try daemon.inspect() }) {
        $0.store.cachedTips == 1
      }
    }
  }
}
