import Session
import Store
import Testing
import Tips

/// I2 and I4: whatever comes late changes nothing.
@Suite(.timeLimit(.minutes(1)))
struct GenerationTests {
  @Test func `a commit that comes after the logout is refused`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      await #expect(throws: StoreError.generationMoved(stored: Generation(2))) {
        try await store.sessions.commit(1, rotation: 1)
      }
      await #expect(throws: StoreError.generationMoved(stored: Generation(2))) {
        try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
      }
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.facts == nil && loaded.generation == 2 && loaded.reason == "logout")
  }

  @Test func `a commit for the session before the present one is refused`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.install(2)
      await #expect(throws: StoreError.generationMoved(stored: Generation(2))) {
        try await store.sessions.commit(1, rotation: 1)
      }
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(try loaded.facts == Dummy.facts(2))
  }

  @Test(arguments: [1, 2, 5] as [UInt64])
  func `an install at or below the stored generation is refused`(generation: UInt64) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.destroy(through: Generation(5), reason: "logout")
      await #expect(throws: StoreError.generationMoved(stored: Generation(5))) {
        try await store.sessions.install(generation)
      }
      #expect(try fixture.sessionKeys().isEmpty)
      try await store.sessions.install(6)
    }
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 6)
  }

  @Test func `a logout that comes after a newer sign-in leaves that one alone`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.install(3)
      try await store.sessions.destroy(through: Generation(2), reason: "late")
      try await store.sessions.destroy(through: Generation(3), reason: "late")
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(try loaded.facts == Dummy.facts(3))
    #expect(try fixture.sessionKeys().count == 1)
  }

  @Test func `a logout at a generation that the store has passed without a session is harmless`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.destroy(through: Generation(4), reason: "first")
      try await store.sessions.destroy(through: Generation(4), reason: "second")
      try await store.sessions.destroy(through: Generation(2), reason: "third")
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.generation == 4 && loaded.reason == "first")
  }

  @Test func `a permit of the right generation and another session writes nothing`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      await #expect(throws: StoreError.generationMoved(stored: Generation(1))) {
        try await store.sessions.recordIntent(
          Dummy.intent(),
          permit: WritePermit(mintedFor: Generation(1), session: try Dummy.session(9)))
      }
    }
    #expect(try await fixture.life { try await $0.sessions.loaded() }.intent == nil)
  }

  @Test func `tips of another session are neither taken nor given`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
      try await store.sessions.install(2)
      await #expect(throws: StoreError.generationMoved(stored: Generation(2))) {
        try await store.tips.put(try Dummy.tip(1, id: "b"), permit: try Dummy.permit(1))
      }
      await #expect(throws: StoreError.generationMoved(stored: Generation(2))) {
        _ = try await store.tips.load(session: try Dummy.session(1), generation: Generation(1))
      }
      let tips = try await store.tips.load(
        session: try Dummy.session(2), generation: Generation(2))
      #expect(tips.isEmpty)
    }
  }

  @Test func `tips come back after a restart, newest first, and are pruned but for today's`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      var today = try Dummy.tip(1, id: "today")
      today.key = .today
      try await store.tips.put(today, permit: try Dummy.permit(1))
      for (index, id) in ["a", "b", "c"].enumerated() {
        try await store.tips.put(
          try Dummy.tip(1, id: id, at: Int64(index + 1)), permit: try Dummy.permit(1))
      }
    }
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      let session = try Dummy.session(1)
      let tips = try await store.tips.load(session: session, generation: Generation(1))
      #expect(tips.map(\.tip.id) == ["c", "b", "a", "today"])
      #expect(try tips[0] == Dummy.tip(1, id: "c", at: 3))
      try await store.tips.prune(keep: 1)
      let kept = try await store.tips.load(session: session, generation: Generation(1))
      #expect(kept.map(\.tip.id) == ["c", "today"])
    }
  }

  @Test func `a new session store starts above what the tip store remembers`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(7) }
    for name in try fixture.names() where name.hasPrefix("session.db") {
      try fixture.remove(name)
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.generation == 8 && loaded.facts == nil)
    #expect(try fixture.sessionKeys().isEmpty)
  }
}
