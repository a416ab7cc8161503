import BrewlogAPI
import DemoUpstream
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// What was answered is there after a kill; what was not, is there whole or not at all (I9). And
  /// what a disk that takes no writes costs.
  @Suite(.timeLimit(.minutes(2)))
  struct DurabilityTests {
    private enum Move: CaseIterable { case signIn, refresh, logout }

    @Test(arguments: [UInt64(1), 2])
    func `what was answered is there after a kill`(seed: UInt64) async throws {
      try await Stage.run { stage in
        var random = SplitMix(state: seed)
        for _ in 0..<8 {
          _ = try make(.allCases.randomElement(using: &random) ?? .signIn, stage).receive()
          let answered = SessionTrace(try stage.daemon.status().session)
          stage.daemon.crash()
          try stage.daemon.start()
          let inspected = try stage.daemon.inspect()
          #expect(SessionTrace(inspected.inMemory) == answered)
          #expect(SessionTrace(inspected.persisted) == answered)
          #expect(inspected.consistent)
        }
        #expect(stage.upstream.peak(Stage.refreshPath) <= 1)
      }
    }

    @Test(arguments: [UInt64(3), 4])
    func `a kill during a move leaves the state before it or after it`(seed: UInt64) async throws {
      try await Stage.run { stage in
        var random = SplitMix(state: seed)
        for _ in 0..<8 {
          let before = SessionTrace(try stage.daemon.status().session)
          let move = Move.allCases.randomElement(using: &random) ?? .signIn
          let call = try make(move, stage)
          stage.daemon.crash()
          // An answer that had left counts.
          let outcome = try call.receive()
          try stage.daemon.start()
          let inspected = try stage.daemon.inspect()
          let after = SessionTrace(inspected.inMemory)
          #expect(inspected.consistent)
          if case .reply = outcome {
            #expect(after == before || after.generation >= before.generation)
            if move == .logout { #expect(after.state == .signedOut) }
          }
          if after == before { continue }
          switch move {
          case .signIn:
            #expect(after.state == .signedIn && after.generation > before.generation)
          case .refresh:
            #expect(after.generation == before.generation)
            #expect(after.rotations == before.rotations + 1)
          case .logout:
            #expect(after.state == .signedOut && after.generation > before.generation)
            #expect(after.access == nil && after.refresh == nil)
          }
        }
      }
    }

    @Test func `no refresh token is spent while the disk takes no writes`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let daemon = stage.daemon
        try stage.signIn()
        try daemon.limitFiles(bytes: "0")
        guard case .storeFailed = try daemon.outcome(.refresh).error else {
          Issue.record("not StoreFailed")
          return
        }
        guard case .unavailable = try daemon.outcome(.today).error else {
          Issue.record("not Unavailable")
          return
        }
        #expect(stage.refreshTokensSent.isEmpty, "I5")
        #expect(try daemon.status().session.state == .signedIn)
        try daemon.limitFiles(bytes: "unlimited")
        try daemon.wait("it heals by itself", asking: { try daemon.outcome(.today) }) {
          $0.error == nil
        }
        #expect(stage.refreshTokensSent == ["refresh-0"])
        #expect(try daemon.inspect().consistent)
      }
    }

    @Test func `a logout on a full disk holds, over a kill, too`() async throws {
      try await Stage.run { stage in
        let daemon = stage.daemon
        let session = try stage.signIn()
        try daemon.limitFiles(bytes: "0")
        let logout = try daemon.call(.logout, as: LogoutReply.self)
        #expect(logout.generation > session.generation)
        #expect(try daemon.status().session.state == .signedOut)
        #expect(
          try daemon.call(.health, as: HealthReply.self).checks.contains {
            $0.name == "store" && !$0.ok
          },
          "what is left to delete is said")
        daemon.crash()
        try daemon.start()
        let inspected = try daemon.inspect()
        #expect(inspected.inMemory.state == .signedOut)
        #expect(inspected.inMemory.generation > session.generation)
        #expect(inspected.persisted.refreshTokenFingerprint == nil)
        #expect(inspected.consistent)
      }
    }

    @Test func `a disk that fails after the exchange costs neither the session nor the pair`()
      async throws
    {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let client = try stage.holdingRefresh(behind: .refresh)
        try daemon.limitFiles(bytes: "0")
        upstream.release("refresh")
        let refreshed = try client.receive().decoded(as: SessionReply.self).session
        #expect(refreshed.rotations == 1)
        #expect(!refreshed.durable, "it is said")
        #expect(try daemon.call(.health, as: HealthReply.self).ready == false)
        #expect(try daemon.today().provenance.source == .network, "it is used")
        try daemon.limitFiles(bytes: "unlimited")
        try daemon.waitForStatus("it is stored as soon as that works") { $0.session.durable }
        daemon.crash()
        upstream.expireAccessTokens()
        try daemon.start()
        #expect(try daemon.today().provenance.source == .network)
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-1"])
      }
    }

    @Test func `a pair that the database cannot take is rescued, and found after a kill`()
      async throws
    {
      try await Stage.run { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        try stage.signIn()
        // The log grows past the bound that the rescue slot, preallocated, stays below.
        let bound = 32_768
        for _ in 0..<30 where try daemon.inspect().store.walSizeBytes <= bound {
          _ = try daemon.call(.refresh, as: SessionReply.self)
        }
        try #require(try daemon.inspect().store.walSizeBytes > bound)
        let before = try daemon.status().session.rotations
        upstream.script(.post, Stage.refreshPath, [.hold("refresh")])
        let client = try stage.connect()
        try client.send(.refresh)
        try #require(upstream.waitForHold("refresh"))
        try daemon.limitFiles(bytes: String(bound))
        upstream.release("refresh")
        let session = try client.receive().decoded(as: SessionReply.self).session
        #expect(session.rotations == before + 1)
        #expect(session.durable, "it is in the rescue slot")
        let answered = SessionTrace(session)
        daemon.crash()
        try daemon.start()
        let inspected = try daemon.inspect()
        #expect(SessionTrace(inspected.inMemory) == answered)
        #expect(SessionTrace(inspected.persisted) == answered)
        upstream.expireAccessTokens()
        #expect(try daemon.today().provenance.source == .network)
        #expect(stage.refreshTokensSent.last == "refresh-\(before + 1)")
      }
    }

    // MARK: Parts

    /// Sends the call that makes the move.
    private func make(_ move: Move, _ stage: Stage) throws -> Connection {
      let connection = try stage.connect()
      switch move {
      case .signIn:
        let tokens = stage.upstream.signIn()
        try connection.send(
          .importCredentials,
          ["accessToken": .string(tokens.access), "refreshToken": .string(tokens.refresh)])
      case .refresh: try connection.send(.refresh)
      case .logout: try connection.send(.logout)
      }
      return connection
    }
  }
}

/// A seeded generator, so that a failing round can be run again.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
