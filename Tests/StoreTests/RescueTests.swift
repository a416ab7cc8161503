import Secrets
import Session
import Store
import Testing

/// I5: a token that was spent has its replacement on disk, even where the database fails after the
/// exchange.
@Suite(.timeLimit(.minutes(1)))
struct RescueTests {
  private let script = Script()

  /// Installed, with an intent, and then with a database that takes nothing.
  private func failing(_ fixture: StoreFixture) async throws -> OpenedStore {
    let store = try fixture.open()
    try await store.sessions.install(1)
    try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
    script.fail(.sessionToBeWritten, with: .full)
    return store
  }

  @Test func `a pair that the database refuses goes to the slot, and the restart finds it`()
    async throws
  {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    try await store.sessions.commit(1, rotation: 1)
    #expect(await store.sessions.settle() == StoreHealth(failure: .full, isRescued: true))
    await store.sessions.close()
    script.fail(.sessionToBeWritten, with: nil)
    let loaded = try await fixture.life { store in
      let loaded = try await store.sessions.loaded()
      #expect(await store.sessions.settle() == StoreHealth())
      return loaded
    }
    #expect(loaded.refresh == Dummy.refresh(1) && loaded.intent == nil)
    #expect(script.seen.contains(.rescueCleared))
  }

  @Test func `the restart finds it while the disk still takes nothing`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    try await store.sessions.commit(1, rotation: 1)
    await store.sessions.close()
    for _ in 0..<2 {
      let loaded = try await fixture.life { try await $0.sessions.loaded() }
      #expect(loaded.refresh == Dummy.refresh(1) && loaded.intent == nil)
    }
  }

  @Test func `inspect shows the rescued pair, and reading it changes nothing`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    try await store.sessions.commit(1, rotation: 1)
    #expect(try await store.sessions.inspect().facts == Dummy.facts(1, rotation: 1))
    #expect(await store.sessions.settle().isRescued)
    await store.sessions.close()
  }

  @Test func `the next write brings it into the database first`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    try await store.sessions.commit(1, rotation: 1)
    script.fail(.sessionToBeWritten, with: nil)
    try await store.sessions.recordIntent(Dummy.intent(tries: 2), permit: try Dummy.permit(1))
    await store.sessions.close()
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.refresh == Dummy.refresh(1) && loaded.intent == Dummy.intent(tries: 2))
  }

  @Test func `a second rescued pair takes the first one's place`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    try await store.sessions.commit(1, rotation: 1)
    try await store.sessions.commit(1, rotation: 2)
    await store.sessions.close()
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.refresh == Dummy.refresh(2))
  }

  @Test func `an old pair that was left in the slot never replaces a newer row`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    try await store.sessions.commit(1, rotation: 1)
    let name = try #require(try fixture.names().first { $0.hasSuffix(".rescue") })
    let slot = try fixture.contents(name)
    script.fail(.sessionToBeWritten, with: nil)
    try await store.sessions.commit(1, rotation: 2)
    await store.sessions.close()
    // As if the crash had come before the slot was emptied.
    try fixture.put(slot, name)
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.refresh == Dummy.refresh(2))
  }

  @Test(arguments: [0, 4, 8, 30, 100, 200])
  func `a torn or changed slot is no slot`(at index: Int) async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    try await store.sessions.commit(1, rotation: 1)
    await store.sessions.close()
    let name = try #require(try fixture.names().first { $0.hasSuffix(".rescue") })
    var slot = try fixture.contents(name)
    slot[index] ^= 1
    try fixture.put(slot, name)
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.refresh == Dummy.refresh(0) && loaded.intent == Dummy.intent())
  }

  @Test func `only when the slot fails too does the commit fail`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    script.fail(.rescueToBeWritten, with: .failed("no slot"))
    await #expect(throws: StoreError.full) { try await store.sessions.commit(1, rotation: 1) }
    script.fail(.rescueToBeWritten, with: nil)
    script.fail(.sessionToBeWritten, with: nil)
    // The coordinator writes it again as soon as it can.
    try await store.sessions.commit(1, rotation: 1)
    await store.sessions.close()
    #expect(
      try await fixture.life { try await $0.sessions.loaded() }.refresh == Dummy.refresh(1))
  }

  @Test func `a logout ends a rescued pair`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    let store = try await failing(fixture)
    try await store.sessions.commit(1, rotation: 1)
    script.fail(.sessionToBeWritten, with: nil)
    try await store.sessions.destroy(through: Generation(2), reason: "logout")
    #expect(try fixture.names().filter { $0.hasPrefix("session-") } == [])
    #expect(try await store.sessions.verifyErasure() == [])
    await store.sessions.close()
  }

  @Test func `a replaced refresh token is known as spent, also after a logout and a restart`()
    async throws
  {
    let fixture = try StoreFixture()
    let tokens = try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.commit(1, rotation: 1)
      let tokens = try (0...1).map { rotation in
        store.sessions.fingerprint(of: try Secret(copying: Array(Dummy.refresh(rotation).utf8)))
      }
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      return tokens
    }
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      #expect(try await store.sessions.isSpent(tokens[0]))
      #expect(try await !store.sessions.isSpent(tokens[1]))
    }
  }

  @Test func `a token that the server hands out again is not spent`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.commit(1, rotation: 1)
      try await store.sessions.commit(1, rotation: 0)
      let token = store.sessions.fingerprint(
        of: try Secret(copying: Array(Dummy.refresh(0).utf8)))
      #expect(try await !store.sessions.isSpent(token))
    }
  }
}
