import Execution
import Session
import Testing
import Tips

@testable import Store

/// What is kept of how earlier sessions ended.
@Suite(.timeLimit(.minutes(1)))
struct LifeTests {
  private func life(_ number: Int, account: String? = "ada") -> SessionLife {
    let start = WallTime(milliseconds: 1_700_000_000_000 + Int64(number) * 1_000_000)
    return SessionLife(
      binding: UpstreamBinding(
        issuer: "https://issuer.example", clientID: "brewlog", apiOrigin: "https://api.example"),
      account: account, signedInAt: start, lastGoodAt: start.advanced(by: .seconds(500)),
      refusedAt: start.advanced(by: .seconds(600)))
  }

  private func kept(in fixture: StoreFixture) async throws -> [SessionLife] {
    try await fixture.life { store in
      let lives: [SessionLife] = try await store.sessions.lives()
      return lives
    }
  }

  @Test func `it survives logouts and restarts`() async throws {
    let fixture = try StoreFixture()
    let lives = [life(1), life(2, account: nil)]
    try await fixture.life { store in
      try await store.sessions.install(1)
      let port: any SessionStore = store.sessions
      for life in lives { try await port.recordLife(life) }
    }
    #expect(try await kept(in: fixture) == lives)
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      try await store.sessions.destroy(through: Generation(2), reason: "logged out")
    }
    #expect(try await kept(in: fixture) == lives)
  }

  @Test func `the newest are kept`() async throws {
    let fixture = try StoreFixture()
    let count = LoginForecast.kept + 6
    try await fixture.life { store in
      for number in 0..<count { try await store.sessions.recordLife(life(number)) }
    }
    #expect(try await kept(in: fixture) == (6..<count).map { life($0) })
  }

  @Test func `how long a pause was meant to be is kept with it`() async throws {
    let fixture = try StoreFixture()
    let backoff = BackoffRecord(
      failures: 1, notBefore: WallTime(milliseconds: 1_700_086_400_000), pause: .seconds(86_400),
      reason: "asked to wait")
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.recordFailure(
        backoff, intent: nil, permit: try Dummy.permit(1))
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.backoff == backoff)
  }

  @Test func `a tip that the upstream no longer has is deleted, within the fence`() async throws {
    let fixture = try StoreFixture()
    let left = try await fixture.life { store in
      try await store.sessions.install(1)
      _ = try await store.tips.load(
        session: try Dummy.session(1), generation: Generation(1))
      for id in ["a", "b"] {
        try await store.tips.put(try Dummy.tip(1, id: id), permit: try Dummy.permit(1))
      }
      let port: any TipStore = store.tips
      try await port.remove(.item("a"), permit: try Dummy.permit(1))
      await #expect(throws: StoreError.self) {
        try await port.remove(.item("b"), permit: try Dummy.permit(2))
      }
      return try await store.tips.load(
        session: try Dummy.session(1), generation: Generation(1))
    }
    #expect(left.map(\.key) == [.item("b")])
  }

  @Test func `a store from before is migrated with its session, and backed up`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let database = try Database(path: fixture.path("session.db"), options: .init())
    try database.run("DROP TABLE life", to: "go back")
    try database.run("ALTER TABLE backoff DROP COLUMN pause", to: "go back")
    try database.run("PRAGMA user_version = 1", to: "go back")
    database.close()
    // One that only looks at it migrates nothing.
    let file = try fixture.contents("session.db")
    #expect(try OfflineStore.read(fixture.directory).schemaVersion == 1)
    #expect(try fixture.contents("session.db") == file)
    try await fixture.life { store in
      #expect(try await store.sessions.loaded().access == Dummy.access(0))
      try await store.sessions.recordLife(life(1))
    }
    #expect(try await kept(in: fixture) == [life(1)])
    #expect(try fixture.names().contains("session.db.backup-v1"))
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      try await store.sessions.destroy(through: Generation(2), reason: "logged out")
    }
    #expect(try !fixture.names().contains("session.db.backup-v1"))
  }
}

extension SQLiteSessionStore {
  fileprivate func lives() throws -> [SessionLife] {
    let loaded = try load()
    return loaded.lives
  }
}
