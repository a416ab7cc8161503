import BrewlogAPI
import DemoUpstream
import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// What the daemon is for: however many ask, the account is refreshed once (I1).
  @Suite(.timeLimit(.minutes(2)))
  struct ThousandClientsTests {
    @Test func `a thousand clients on an expired token cost one refresh and two tip requests`()
      async throws
    {
      try #require(Self.allowDescriptors(3_000), "too few open files are allowed (ulimit -n)")
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        upstream.script(.get, Stage.todayPath, [.hold("rejection")])
        upstream.script(.post, Stage.refreshPath, [.hold("refresh")])
        try stage.signIn()
        let descriptors = try Self.descriptors(daemon)

        let clients = try (0..<1_000).map { _ in try stage.connect() }
        for client in clients { try client.send(.today) }
        try daemon.waitForStatus("all have asked") {
          $0.counters.cacheMisses == 1_000 && $0.counters.requestsDeduplicated == 999
        }
        try #require(upstream.waitForHold("rejection"))
        upstream.release("rejection")
        try #require(upstream.waitForHold("refresh"))
        #expect(try daemon.status().session.activity == .refreshing)
        #expect(!clients.contains { $0.hasReply })
        upstream.release("refresh")

        let titles = try clients.map { try $0.receive().decoded(as: Entry.self).tip.title }
        #expect(titles.count == 1_000)
        #expect(Set(titles).count == 1)
        #expect(
          upstream.lines == [
            "GET /tips/today 401", "POST /auth/refresh 200", "GET /tips/today 200",
          ])
        let counters = try daemon.status().counters
        #expect(counters.refreshesStarted == 1)
        #expect(counters.refreshesSucceeded == 1)
        #expect(counters.upstreamRequests == 2)
        for client in clients { client.close() }
        // Beside those of before, one kept for the upstream.
        try daemon.wait("its side is closed, too", asking: { try Self.descriptors(daemon) }) {
          $0 <= descriptors + 2
        }
      }
    }

    @Test func `a thousand who ask to refresh join the one that is under way`() async throws {
      try #require(Self.allowDescriptors(3_000), "too few open files are allowed (ulimit -n)")
      try await Stage.run { stage in
        stage.upstream.script(.post, Stage.refreshPath, [.hold("refresh")])
        try stage.signIn()
        let clients = try (0..<1_000).map { _ in try stage.connect() }
        for client in clients { try client.send(.refresh) }
        try stage.daemon.waitForStatus("all have joined") {
          $0.counters.refreshWaitersJoined == 999
        }
        stage.upstream.release("refresh")
        let rotations = try clients.map {
          try $0.receive().decoded(as: SessionReply.self).session.rotations
        }
        #expect(rotations == Array(repeating: 1, count: 1_000))
        #expect(stage.refreshTokensSent == ["refresh-0"])
      }
    }

    private static func descriptors(_ daemon: DaemonFixture) throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.process.pid)/fd").count
    }

    /// Both sides need a descriptor for each client; the daemon inherits this process's bound.
    private static func allowDescriptors(_ count: UInt) -> Bool {
      var limit = rlimit()
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
        return false
      }
      if limit.rlim_cur >= count { return true }
      limit.rlim_cur = min(limit.rlim_max, count)
      return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        && limit.rlim_cur >= count
    }
  }
}
