import BrewlogAPI
import DemoUpstream
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// Calls with `more`: what happens reaches those who watch.
  @Suite(.timeLimit(.minutes(2)))
  struct StreamTests {
    @Test func `a watcher sees the session's life in its order`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let watcher = try stage.connect()
        try watcher.send(.watch, more: true)
        #expect(try event(watcher).kind.name == "signedOut", "the present state comes first")
        try stage.signIn()
        _ = try stage.daemon.today()
        _ = try stage.daemon.call(.logout, as: LogoutReply.self)
        let events = try events(watcher, until: "signedOut")
        let kinds = events.map(\.kind.name)
        let expected = ["imported", "refreshStarted", "refreshSucceeded", "signedOut"]
        #expect(kinds.filter { expected.contains($0) } == expected, "\(kinds)")
        let sequences = events.map(\.sequence)
        #expect(sequences == sequences.sorted())
        #expect(Set(sequences).count == sequences.count)
        #expect(events.last?.actorUid != nil)
      }
    }

    @Test func `the history survives a kill and its numbers go on`() async throws {
      try await Stage.run { stage in
        let daemon = stage.daemon
        try stage.signIn()
        _ = try daemon.call(.refresh, as: SessionReply.self)
        #expect(daemon.stop() == .exited(0))
        try daemon.start()
        let before = try daemon.call(.history, as: HistoryReply.self).events
        #expect(before.map(\.kind.name).contains("imported"))
        #expect(before.map(\.kind.name).contains("refreshSucceeded"))
        daemon.crash()
        try daemon.start()
        _ = try daemon.call(.logout, as: LogoutReply.self)
        let after = try daemon.call(.history, as: HistoryReply.self).events
        #expect(after.first?.kind.name == "signedOut", "newest first")
        #expect((after.first?.sequence ?? 0) > (before.first?.sequence ?? 0))
      }
    }

    @Test func `who follows the tip of the day is told of a new one and of the session's end`()
      async throws
    {
      try await Stage.run { stage in
        try stage.signIn()
        let follower = try stage.connect()
        try follower.send(.today, more: true)
        let first = try follower.receive().decoded(as: Entry.self)
        stage.upstream.script(
          .get, Stage.todayPath,
          [.json(#"{"id":"new","title":"A new tip","body":"Brew it."}"#)])
        _ = try stage.daemon.call(.today, ["maxAgeSeconds": 0], as: Entry.self)
        let second = try follower.receive().decoded(as: Entry.self)
        #expect(second.tip.id == "new")
        #expect(second.tip.id != first.tip.id)
        let logout = try stage.daemon.call(.logout, as: LogoutReply.self)
        guard case .failure(.tipsSignedOut(logout.generation, _)) = try follower.receive() else {
          Issue.record("the stream does not end with SignedOut")
          return
        }
      }
    }

    private func event(_ watcher: Connection) throws -> Event {
      try watcher.receive().decoded(as: WatchReply.self).event
    }

    private func events(_ watcher: Connection, until kind: String) throws -> [Event] {
      var seen: [Event] = []
      repeat { seen.append(try event(watcher)) } while seen.last?.kind.name != kind
      return seen
    }
  }
}
