import Execution
import Secrets
import Session
import Store
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RestartTests {
  @Test func `a new store is signed out at generation zero, and its files are private`()
    async throws
  {
    let fixture = try StoreFixture()
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.generation == 0 && loaded.facts == nil && loaded.reason == nil)
    #expect(
      try fixture.names() == ["brewlogd.lock", "keyring", "master.key", "session.db", "tips.db"])
    for name in try fixture.names() {
      #expect(try mode(of: fixture.path(name)) == 0o600, "\(name)")
    }
    #expect(try mode(of: fixture.directory) == 0o700)
  }

  @Test func `a restart finds the session as it was installed`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.generation == 1)
    #expect(try loaded.facts == Dummy.facts(1))
    #expect(loaded.access == Dummy.access(0) && loaded.refresh == Dummy.refresh(0))
    #expect(loaded.intent == nil && loaded.backoff == nil && loaded.reason == nil)
  }

  @Test func `a restart finds the last committed pair, and no intent after a commit`() async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
      try await store.sessions.commit(1, rotation: 1)
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(try loaded.facts == Dummy.facts(1, rotation: 1))
    #expect(loaded.refresh == Dummy.refresh(1) && loaded.intent == nil)
  }

  @Test func `an intent without a commit is found again, with its tries`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.recordIntent(Dummy.intent(tries: 3), permit: try Dummy.permit(1))
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.intent == Dummy.intent(tries: 3))
    #expect(loaded.refresh == Dummy.refresh(0))
  }

  @Test(arguments: [nil, Dummy.intent(tries: 2)])
  func `a failure's backoff is found again, with the intent that it left`(
    intent: RefreshIntent?
  ) async throws {
    let fixture = try StoreFixture()
    let backoff = BackoffRecord(
      failures: 2, notBefore: WallTime(milliseconds: 1_700_000_000_500), reason: "no route")
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
      try await store.sessions.recordFailure(
        backoff, intent: intent, permit: try Dummy.permit(1))
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.backoff == backoff && loaded.intent == intent)
  }

  @Test func `a session with one token only comes back with one only`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      var record = try Dummy.record(1)
      record.pair.refresh = nil
      try await store.sessions.install(record, permit: try Dummy.permit(1))
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.access == Dummy.access(0) && loaded.refresh == nil)
  }

  @Test func `inspect reads what a restart would restore`() async throws {
    let fixture = try StoreFixture()
    let (persisted, access) = try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
      let token = try Secret(copying: Array(Dummy.access(0).utf8))
      return (try await store.sessions.inspect(), store.sessions.fingerprint(of: token))
    }
    #expect(persisted.generation == Generation(1))
    #expect(try persisted.facts == Dummy.facts(1))
    #expect(persisted.accessToken == access && persisted.refreshToken != access)
    #expect(persisted.intent == Dummy.intent())
    #expect(persisted.schemaVersion == 2 && persisted.integrity == "ok")
    #expect(persisted.sizeBytes > 0 && persisted.walSizeBytes > 0)
    #expect(persisted.encryption.contains("XChaCha20-Poly1305"))
    #expect(persisted.encryption.contains("master.key"))
  }

  @Test func `fingerprints stay the same over restarts, and differ between installations`()
    async throws
  {
    let fixture = try StoreFixture()
    let other = try StoreFixture()
    let first = try await fingerprint(in: fixture)
    let again = try await fingerprint(in: fixture)
    let elsewhere = try await fingerprint(in: other)
    #expect(again == first && elsewhere != first)
  }

  @Test func `a closed store says so to every call`() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    await store.sessions.close()
    await #expect(throws: StoreError.closed) { _ = try await store.sessions.loaded() }
    await #expect(throws: StoreError.closed) { try await store.sessions.install(1) }
    await #expect(throws: StoreError.closed) {
      try await store.sessions.destroy(through: Generation(1), reason: "logout")
    }
    await #expect(throws: StoreError.closed) { try await store.tips.prune(keep: 1) }
  }

  private func fingerprint(in fixture: StoreFixture) async throws -> Fingerprint {
    try await fixture.life { store in
      store.sessions.fingerprint(of: try Secret(copying: Array(Dummy.refresh(0).utf8)))
    }
  }
}
