import BrewlogAPI
import DemoUpstream
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// One connection, several calls; one request, several tries.
  @Suite(.timeLimit(.minutes(2)))
  struct ConnectionTests {
    @Test func `B158: pipelined calls are answered in their order though the first has to wait`()
      async throws
    {
      try await Stage.run { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        upstream.script(.get, Stage.todayPath, [.hold("tip")])
        try stage.signIn()
        let client = try stage.connect()
        try client.send(.today)
        try client.send(.get, ["id": "bloom"])
        try client.send(.status)
        try client.send(.health)
        try #require(upstream.waitForHold("tip"))
        // The second call is under way beside the first, and its answer waits behind it.
        try #require(upstream.waitForRequests(Stage.tipPath("bloom"), count: 1))
        try daemon.wait(
          "the second tip is there", asking: { try daemon.call(.list, as: ListReply.self) }
        ) {
          $0.entries.count == 1
        }
        #expect(!client.hasReply)
        upstream.release("tip")
        #expect(try client.receive().decoded(as: Entry.self).tip.date != nil)
        #expect(try client.receive().decoded(as: Entry.self).tip.id == "bloom")
        #expect(try client.receive().decoded(as: StatusReply.self).session.state == .signedIn)
        #expect(try client.receive().decoded(as: HealthReply.self).ready)
      }
    }

    /// The other half of B158.
    @Test func `a held call of one client does not hold up another`() async throws {
      try await Stage.run { stage in
        stage.upstream.script(.get, Stage.todayPath, [.hold("tip")])
        try stage.signIn()
        let waiting = try stage.connect()
        try waiting.send(.today)
        try #require(stage.upstream.waitForHold("tip"))
        #expect(try stage.daemon.call(.get, ["id": "bloom"], as: Entry.self).tip.id == "bloom")
        #expect(!waiting.hasReply)
        stage.upstream.release("tip")
        #expect(try waiting.receive().decoded(as: Entry.self).tip.date != nil)
      }
    }

    @Test func `a caller's wait ends though the request goes on for others`() async throws {
      try await Stage.run { stage in
        stage.upstream.script(.get, Stage.todayPath, [.hold("tip")])
        try stage.signIn()
        let patient = try stage.connect()
        try patient.send(.today)
        try #require(stage.upstream.waitForHold("tip"))
        guard case .unavailable = try stage.daemon.outcome(.today, ["waitSeconds": 0]).error else {
          Issue.record("not Unavailable")
          return
        }
        stage.upstream.release("tip")
        #expect(try patient.receive().decoded(as: Entry.self).tip.date != nil)
        #expect(stage.upstream.requests(Stage.todayPath) == 1)
      }
    }

    @Test func `a rating rejected with 401 is repeated with the same key and body`() async throws {
      try await Stage.run(Stage.expired) { stage in
        try stage.signIn()
        _ = try stage.daemon.call(.rate, ["id": "bloom", "rating": 4], as: EmptyReply.self)
        let sent = stage.upstream.log.filter { $0.method == .post && $0.path.hasSuffix("/rating") }
        try #require(sent.map(\.status) == [401, 200])
        #expect(sent.map(\.bearer) == ["access-0", "access-1"])
        let keys = sent.map { $0.headers["idempotency-key"] }
        #expect(keys[0]?.isEmpty == false)
        #expect(keys[0] == keys[1])
        #expect(
          sent.map(\.bodyLength) == [#"{"rating":4}"#.utf8.count, #"{"rating":4}"#.utf8.count])
        #expect(stage.upstream.ratings(of: "bloom") == [4])
        #expect(stage.refreshTokensSent == ["refresh-0"])
      }
    }

    @Test func `a rating whose answer was lost is asked for again and counts once`() async throws {
      try await Stage.run(DemoOptions(), ["Retry": ["Backoff=10ms"]]) { stage in
        let path = Stage.tipPath("bloom") + "/rating"
        stage.upstream.script(.post, path, [.loseAnswer])
        try stage.signIn()
        _ = try stage.daemon.call(.rate, ["id": "bloom", "rating": 5], as: EmptyReply.self)
        let keys = stage.upstream.log.filter { $0.path == path }
          .map { $0.headers["idempotency-key"] }
        #expect(keys.count == 2)
        #expect(Set(keys).count == 1)
        #expect(stage.upstream.ratings(of: "bloom") == [5])
        // Another rating is another request.
        _ = try stage.daemon.call(.rate, ["id": "bloom", "rating": 5], as: EmptyReply.self)
        #expect(stage.upstream.ratings(of: "bloom") == [5, 5])
      }
    }

    @Test func `retries for an upstream that fails are bounded`() async throws {
      try await Stage.run(DemoOptions(), ["Retry": ["Backoff=10ms"]]) { stage in
        stage.upstream.always(.get, Stage.todayPath, .json("{}", status: 500))
        try stage.signIn()
        guard case .unavailable(_, 500, _) = try stage.daemon.outcome(.today).error else {
          Issue.record("not Unavailable with 500")
          return
        }
        #expect(stage.upstream.requests(Stage.todayPath) == 3)
        #expect(try stage.daemon.status().counters.retries == 2)
      }
    }
  }
}
