import BrewlogAPI
import DemoUpstream
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// One refresh, many who need it: joined, late, failed, left.
  @Suite(.timeLimit(.minutes(2)))
  struct SharedRefreshTests {
    @Test func `requests rejected at the same time share one refresh`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        for id in Stage.tipIDs {
          upstream.script(.get, Stage.tipPath(id), [.hold("rejections")])
        }
        upstream.script(.post, Stage.refreshPath, [.hold("refresh")])
        try stage.signIn()
        let clients = try stage.ask(for: Stage.tipIDs)
        try #require(upstream.waitForHold("rejections", count: Stage.tipIDs.count))
        upstream.release("rejections")
        try daemon.waitForStatus("all wait for the refresh") {
          $0.counters.refreshWaitersJoined == Stage.tipIDs.count - 1
        }
        upstream.release("refresh")
        for (client, id) in zip(clients, Stage.tipIDs) {
          #expect(try client.receive().decoded(as: Entry.self).tip.id == id)
        }
        #expect(stage.refreshTokensSent == ["refresh-0"])
        #expect(upstream.peak(Stage.refreshPath) == 1)
        for id in Stage.tipIDs {
          let sent = upstream.log.filter { $0.path == Stage.tipPath(id) }
          #expect(sent.map(\.bearer) == ["access-0", "access-1"], "\(id)")
        }
      }
    }

    @Test func `a rejection of a token that has been replaced costs no second refresh`()
      async throws
    {
      try await Stage.run(Stage.expired) { stage in
        let upstream = stage.upstream
        upstream.script(.get, Stage.tipPath("bloom"), [.hold("late")])
        try stage.signIn()
        let late = try stage.ask(for: ["bloom"])[0]
        try #require(upstream.waitForHold("late"))
        // Another one is rejected, and the session refreshed, while the first still waits.
        #expect(try stage.daemon.today().provenance.source == .network)
        #expect(try stage.daemon.status().counters.refreshesSucceeded == 1)
        #expect(!late.hasReply)
        upstream.release("late")
        #expect(try late.receive().decoded(as: Entry.self).tip.id == "bloom")
        #expect(stage.refreshTokensSent == ["refresh-0"])
        #expect(
          upstream.log.filter { $0.path == Stage.tipPath("bloom") }.map(\.bearer) == [
            "access-0", "access-1",
          ])
      }
    }

    @Test
    func `a failed refresh fails all who wait alike and the next one comes after the backoff`()
      async throws
    {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let ids = Array(Stage.tipIDs.prefix(4))
        for id in ids { upstream.script(.get, Stage.tipPath(id), [.hold("rejections")]) }
        upstream.script(
          .post, Stage.refreshPath, [.json("{}", status: 403).held("refresh")])
        try stage.signIn()
        let clients = try stage.ask(for: ids)
        try #require(upstream.waitForHold("rejections", count: ids.count))
        upstream.release("rejections")
        try daemon.waitForStatus("all wait for the refresh") {
          $0.counters.refreshWaitersJoined == ids.count - 1
        }
        upstream.release("refresh")
        let errors = try clients.map { try $0.receive().error }
        #expect(errors.allSatisfy { $0 == errors[0] })
        guard case .unavailable(_, 403, .some) = errors[0] else {
          Issue.record("not Unavailable with the wait, but \(String(describing: errors[0]))")
          return
        }
        let status = try daemon.status()
        #expect(status.session.state == .signedIn)
        #expect(status.session.activity == .backingOff)
        #expect(status.counters.refreshesFailed == 1)

        // The slot is free, but nothing is sent before its time, whoever asks.
        let refusal = try daemon.outcome(.refresh).error
        guard case .refreshFailed = refusal else {
          Issue.record("not RefreshFailed but \(String(describing: refusal))")
          return
        }
        #expect(stage.refreshTokensSent == ["refresh-0"])
        try daemon.wait("the backoff is over", asking: { try daemon.outcome(.refresh) }) {
          $0.error == nil
        }
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-0"])
        #expect(try daemon.call(.get, ["id": "bloom"], as: Entry.self).tip.id == "bloom")
      }
    }

    @Test(arguments: [0, 1, 2])
    func `a client that leaves takes nothing from the others`(leaver: Int) async throws {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        upstream.script(.post, Stage.refreshPath, [.hold("refresh")])
        try stage.signIn()
        // The first begins the refresh, the second joins it, the third joins the second's request.
        let ids = ["bloom", "cold-brew", "cold-brew"]
        let clients = try stage.ask(for: ids)
        try #require(upstream.waitForHold("refresh"))
        try daemon.waitForStatus("all wait") {
          $0.counters.refreshWaitersJoined == 1 && $0.counters.requestsDeduplicated == 1
        }
        clients[leaver].close()
        // Once this is answered the daemon has seen the connection's end.
        #expect(try daemon.status().session.activity == .refreshing)
        upstream.release("refresh")
        for index in ids.indices where index != leaver {
          #expect(try clients[index].receive().decoded(as: Entry.self).tip.id == ids[index])
        }
        #expect(stage.refreshTokensSent == ["refresh-0"])
        #expect(try daemon.status().counters.refreshesSucceeded == 1)
      }
    }

    @Test func `a second rejection is the caller's answer and no loop`() async throws {
      try await Stage.run { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        upstream.always(.get, Stage.todayPath, .json("{}", status: 401))
        try stage.signIn()
        guard case .refused(_, 401) = try daemon.outcome(.today).error else {
          Issue.record("not refused with 401")
          return
        }
        #expect(
          upstream.lines == [
            "GET /tips/today 401", "POST /auth/refresh 200", "GET /tips/today 401",
          ])
        #expect(try daemon.status().session.state == .signedIn)

        // Whoever goes on asking is braked after five refreshes (no loop, whatever the lifetime).
        for _ in 0..<20 {
          guard case .refused(_, 401) = try daemon.outcome(.today).error else {
            Issue.record("not refused with 401")
            return
          }
        }
        #expect(upstream.requests(Stage.refreshPath) == 5)
      }
    }

    @Test func `a refused refresh token ends the session for all who wait`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let ids = ["bloom", "cold-brew"]
        upstream.script(
          .post, Stage.refreshPath, [.json("{}", status: 401).held("refresh")])
        let generation = try stage.signIn().generation
        let clients = try stage.ask(for: ids)
        try #require(upstream.waitForHold("refresh"))
        try daemon.waitForStatus("both wait") { $0.counters.refreshWaitersJoined == 1 }
        upstream.release("refresh")
        for client in clients {
          guard case .tipsSignedOut(let moved, let reason) = try client.receive().error else {
            Issue.record("not SignedOut")
            continue
          }
          #expect(moved > generation)
          #expect(!reason.isEmpty)
        }
        let inspected = try daemon.inspect()
        #expect(inspected.persisted.state == .signedOut)
        #expect(inspected.consistent)
        #expect(stage.refreshTokensSent == ["refresh-0"])
      }
    }
  }
}
