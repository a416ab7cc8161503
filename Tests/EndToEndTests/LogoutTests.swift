import BrewlogAPI
import DemoUpstream
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// A logout is a boundary (I2): what was under way before it changes nothing after it.
  @Suite(.timeLimit(.minutes(2)))
  struct LogoutTests {
    // B26, B28 (over a kill and a restart), B29 (while the upstream hangs).
    @Test func `a logout during a refresh is answered at once and stays`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let (clients, generation) = try holdRefresh(stage)
        let logout = try daemon.call(.logout, as: LogoutReply.self)
        #expect(logout.previousGeneration == generation)
        #expect(logout.generation > generation)
        #expect(upstream.openRequests(Stage.refreshPath) == 1, "the upstream has not answered")
        try expectSignedOut(clients, logout.generation)

        upstream.release("refresh")
        let status = try daemon.waitForStatus("the late answer has come") {
          $0.counters.lateResultsRejected == 1
        }
        #expect(status.session.state == .signedOut)
        #expect(status.session.generation == logout.generation)
        #expect(status.session.accessTokenFingerprint == nil)
        #expect(status.counters.refreshesSucceeded == 0)
        try expectNothingPersisted(daemon, logout.generation)

        daemon.crash()
        try daemon.start()
        #expect(try daemon.status().session.generation == logout.generation)
        try expectNothingPersisted(daemon, logout.generation)
        #expect(stage.refreshTokensSent == ["refresh-0"])
      }
    }

    @Test func `a late answer does not touch the account that has signed in meanwhile`()
      async throws
    {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let (clients, _) = try holdRefresh(stage)
        let logout = try daemon.call(.logout, as: LogoutReply.self)
        try expectSignedOut(clients, logout.generation)
        let second = upstream.signIn()
        let session = try stage.signIn(with: second)
        #expect(session.generation > logout.generation)

        upstream.release("refresh")
        try daemon.waitForStatus("the late answer has come") {
          $0.counters.lateResultsRejected == 1
        }
        try expectUntouched(stage, session)
        #expect(stage.refreshTokensSent == ["refresh-0"])

        daemon.crash()
        try daemon.start()
        try expectUntouched(stage, session)
      }
    }

    @Test func `an import during a refresh replaces the session for good`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let (clients, generation) = try holdRefresh(stage)
        let session = try stage.signIn(with: upstream.signIn())
        #expect(session.generation > generation)
        try expectSignedOut(clients, session.generation)
        upstream.release("refresh")
        try daemon.waitForStatus("the late answer has come") {
          $0.counters.lateResultsRejected == 1
        }
        try expectUntouched(stage, session)
      }
    }

    @Test func `B99: a logout ends a tip request that is under way`() async throws {
      try await Stage.run { stage in
        stage.upstream.script(.get, Stage.todayPath, [.hold("tip")])
        try stage.signIn()
        let client = try stage.connect()
        try client.send(.today)
        try #require(stage.upstream.waitForHold("tip"))
        let logout = try stage.daemon.call(.logout, as: LogoutReply.self)
        try expectSignedOut([client], logout.generation)
        stage.upstream.release("tip")
        try expectNothingPersisted(stage.daemon, logout.generation)
        #expect(try stage.daemon.inspect().store.cachedTips == 0)
      }
    }

    @Test func `a logout works while the upstream is away and without a session`() async throws {
      try await Stage.run { stage in
        let daemon = stage.daemon
        try stage.signIn()
        stage.upstream.close()
        let first = try daemon.call(.logout, as: LogoutReply.self)
        #expect(first.generation > first.previousGeneration)
        let second = try daemon.call(.logout, as: LogoutReply.self)
        #expect(second.generation == first.generation)
        #expect(second.previousGeneration == first.generation)
        #expect(second.revocation == .skipped)
      }
    }

    @Test func `a logout for another generation changes nothing`() async throws {
      try await Stage.run { stage in
        let generation = try stage.signIn().generation
        let refusal = try stage.daemon.outcome(
          .logout, ["ifGeneration": .integer(Int64(generation - 1))]
        ).error
        #expect(refusal == .generationMoved(generation: generation))
        #expect(try stage.daemon.status().session.state == .signedIn)
      }
    }

    // MARK: Parts

    /// Three clients who wait for a refresh that the upstream has done but not answered.
    private func holdRefresh(_ stage: Stage) throws -> ([Connection], Int) {
      stage.upstream.script(.post, Stage.refreshPath, [.hold("refresh")])
      let generation = try stage.signIn().generation
      let clients = try stage.ask(for: Array(Stage.tipIDs.prefix(3)))
      try #require(stage.upstream.waitForHold("refresh"))
      try stage.daemon.waitForStatus("all wait for the refresh") {
        $0.counters.refreshWaitersJoined == 2
      }
      return (clients, generation)
    }

    private func expectSignedOut(
      _ clients: [Connection], _ generation: Int, _ location: SourceLocation = #_sourceLocation
    ) throws {
      for client in clients {
        let outcome = try client.receive()
        guard case .failure(.tipsSignedOut(generation, _)) = outcome else {
          Issue.record("not SignedOut but \(outcome)", sourceLocation: location)
          continue
        }
      }
    }

    private func expectNothingPersisted(
      _ daemon: DaemonFixture, _ generation: Int, _ location: SourceLocation = #_sourceLocation
    ) throws {
      let inspected = try daemon.inspect()
      for snapshot in [inspected.persisted, inspected.inMemory] {
        #expect(snapshot.state == .signedOut, sourceLocation: location)
        #expect(snapshot.generation == generation, sourceLocation: location)
        #expect(snapshot.durable, sourceLocation: location)
        #expect(snapshot.account == nil, sourceLocation: location)
        #expect(snapshot.accessTokenFingerprint == nil, sourceLocation: location)
        #expect(snapshot.refreshTokenFingerprint == nil, sourceLocation: location)
      }
      #expect(inspected.consistent, sourceLocation: location)
    }

    /// The session is what it was when it was made, on disk too, and works.
    private func expectUntouched(
      _ stage: Stage, _ session: Snapshot, _ location: SourceLocation = #_sourceLocation
    ) throws {
      let inspected = try stage.daemon.inspect()
      #expect(inspected.consistent, sourceLocation: location)
      for snapshot in [inspected.persisted, inspected.inMemory] {
        #expect(snapshot.state == .signedIn, sourceLocation: location)
        #expect(snapshot.generation == session.generation, sourceLocation: location)
        #expect(
          snapshot.accessTokenFingerprint == session.accessTokenFingerprint,
          sourceLocation: location)
        #expect(
          snapshot.refreshTokenFingerprint == session.refreshTokenFingerprint,
          sourceLocation: location)
        #expect(snapshot.rotations == 0, sourceLocation: location)
      }
      let entry = try stage.daemon.today()
      #expect(entry.provenance.generation == session.generation, sourceLocation: location)
    }
  }
}
