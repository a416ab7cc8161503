import Platform
import Secrets
import Session
import Store
import Testing
import Tips

/// Each comparison of the store by itself (I4), and what a step leaves alone when it has nothing to do.
@Suite(.timeLimit(.minutes(1)))
struct StoreGuardTests {
  private let script = Script()

  private func spent(_ store: OpenedStore, rotation: Int) async throws -> Bool {
    let token = try Secret(copying: Array(Dummy.refresh(rotation).utf8))
    return try await store.sessions.isSpent(store.sessions.fingerprint(of: token))
  }

  @Test func `a permit of the right session and another generation writes nothing`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      await #expect(throws: StoreError.generationMoved(stored: Generation(1))) {
        try await store.sessions.recordIntent(
          Dummy.intent(),
          permit: WritePermit(mintedFor: Generation(2), session: try Dummy.session(1)))
      }
    }
    #expect(try await fixture.life { try await $0.sessions.loaded() }.intent == nil)
  }

  /// A permit and the session that it goes with, one of whose halves is another's.
  @Test(arguments: [(2, 2, 9), (2, 3, 2)])
  func `a sign-in needs a permit for itself`(
    generation: UInt64, permitted: UInt64, session: UInt8
  ) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      await #expect(throws: StoreError.generationMoved(stored: Generation(1))) {
        try await store.sessions.install(
          try Dummy.record(generation),
          permit: WritePermit(
            mintedFor: Generation(permitted), session: try Dummy.session(session)))
      }
      #expect(try fixture.sessionKeys().count == 1)
    }
  }

  @Test(arguments: [(1, 9), (2, 1)])
  func `a pair needs a permit for its own session and generation`(
    generation: UInt64, session: UInt8
  ) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      await #expect(throws: StoreError.generationMoved(stored: Generation(1))) {
        try await store.sessions.commit(
          try Self.record(generation, session), permit: try Dummy.permit(1))
      }
    }
    #expect(try await fixture.life { try await $0.sessions.loaded() }.refresh == Dummy.refresh(0))
  }

  private static func record(_ generation: UInt64, _ session: UInt8) throws -> SessionRecord {
    var record = try Dummy.record(1, rotation: 1)
    record.facts.generation = Generation(generation)
    record.facts.id = try Dummy.session(session)
    return record
  }

  @Test func `a sign-in that comes too late touches nothing`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(5)
      script.forget()
      await #expect(throws: StoreError.generationMoved(stored: Generation(5))) {
        try await store.sessions.install(3)
      }
      #expect(script.seen == [])
    }
  }

  /// I1
  @Test func `a pair that comes too late spends no token of the present session`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.install(2)
      await #expect(throws: StoreError.generationMoved(stored: Generation(2))) {
        try await store.sessions.commit(1, rotation: 1)
      }
      #expect(try await !spent(store, rotation: 0))
    }
  }

  /// I1
  @Test func `a token is spent as soon as its replacement is rescued`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(.sessionToBeWritten, with: .full)
      #expect(try await !spent(store, rotation: 0))
      try await store.sessions.commit(1, rotation: 1)
      #expect(try await spent(store, rotation: 0))
      script.fail(.sessionToBeWritten, with: nil)
    }
  }

  @Test func `a slot that holds nothing is not cleared, and no start writes for it`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.commit(1, rotation: 1)
    }
    #expect(!script.seen.contains(.rescueCleared))
    script.forget()
    try await fixture.life { _ = try await $0.sessions.loaded() }
    #expect(script.seen == [])
  }

  @Test func `a rescued pair is in the database when the start has ended`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(.sessionToBeWritten, with: .full)
      try await store.sessions.commit(1, rotation: 1)
    }
    script.fail(.sessionToBeWritten, with: nil)
    script.forget()
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      #expect(script.seen == [.sessionToBeWritten, .sessionWritten, .rescueCleared])
    }
  }

  /// A commit that failed may still come true at a restart, unless the log is empty.
  @Test(arguments: [false, true])
  func `the key of a sign-in that failed goes only with its log`(isRead: Bool) async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.commit(1, rotation: 1)
      let reader = isRead ? try HoldingReader(fixture.path("session.db")) : nil
      if isRead { try await store.sessions.commit(1, rotation: 2) }
      script.fail(.sessionToBeWritten, with: .failed("the disk fails"))
      await #expect(throws: StoreError.failed("the disk fails")) {
        try await store.sessions.install(2)
      }
      #expect(try fixture.sessionKeys().count == (isRead ? 2 : 1))
      reader?.close()
      script.fail(.sessionToBeWritten, with: nil)
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.refresh == Dummy.refresh(isRead ? 2 : 1))
    #expect(try fixture.sessionKeys().count == 1)
  }

  @Test(arguments: ["session.db", "tips.db"])
  func `a logout is not finished while a log cannot be emptied`(name: String) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
      let reader = try HoldingReader(fixture.path(name))
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      #expect(await store.sessions.settle().unfinishedLogout != nil)
      reader.close()
      #expect(await store.sessions.settle() == StoreHealth())
    }
  }

  /// A disk that does not take an entry of the outbox may take the rest.
  @Test(arguments: [true, false])
  func `a logout does not fail for want of a revocation`(isRevoked: Bool) async throws {
    let failures = Locked(0)
    let fixture = try StoreFixture(
      hooks: StoreHooks { step in
        guard step == .sessionToBeWritten else { return nil }
        return failures.withLock { failures in
          failures -= 1
          return failures == 0 ? .full : nil
        }
      })
    try await fixture.life { store in
      try await store.sessions.install(1)
      failures.withLock { $0 = 1 }
      let isQueued = try await store.sessions.destroy(
        through: Generation(2), reason: "logout",
        revoking: isRevoked ? try Dummy.record(1) : nil)
      #expect(!isQueued)
      let generation = try await store.sessions.inspect().generation
      #expect(generation == Generation(isRevoked ? 2 : 1))
      #expect(await store.sessions.settle() == StoreHealth())
      #expect(try await store.sessions.inspect().generation == Generation(2))
    }
  }

  @Test func `a store that is found damaged at the start is set aside`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let store = try fixture.open()
    try drop("session", of: "session.db", fixture)
    let loaded = try await store.sessions.loaded()
    #expect(loaded.facts == nil && loaded.generation >= 1)
    await store.sessions.close()
    #expect(try fixture.names().contains { $0.contains("damaged") })
  }

  /// What a tip says of itself and what its permit says; one of the four is another's.
  @Test(arguments: [(1, 9, 1, 1), (2, 1, 1, 1), (2, 1, 2, 1), (1, 9, 1, 9)])
  func `a tip needs a permit for itself, and the fence's word`(
    generation: UInt64, session: UInt8, permitted: UInt64, permittedSession: UInt8
  ) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
      var tip = try Dummy.tip(1, id: "b")
      tip.generation = Generation(generation)
      tip.session = try Dummy.session(session)
      let late = tip
      await #expect(throws: StoreError.generationMoved(stored: Generation(1))) {
        try await store.tips.put(
          late,
          permit: WritePermit(
            mintedFor: Generation(permitted), session: try Dummy.session(permittedSession)))
      }
      let kept = try await store.tips.load(
        session: try Dummy.session(1), generation: Generation(1))
      #expect(kept.map(\.tip.id) == ["a"])
    }
  }

  @Test func `tips that turn out damaged are set aside, and filled anew`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try drop("tip", of: "tips.db", fixture)
      try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
      let kept = try await store.tips.load(
        session: try Dummy.session(1), generation: Generation(1))
      #expect(kept.map(\.tip.id) == ["a"])
    }
    #expect(try fixture.names().contains { $0.hasPrefix("tips.db.damaged") })
  }

  @Test func `tips that another process holds are no damage`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
      let holder = try HoldingReader(fixture.path("tips.db"), writing: true)
      await #expect(throws: StoreError.busy) {
        try await store.tips.put(try Dummy.tip(1, id: "b"), permit: try Dummy.permit(1))
      }
      holder.close()
      let kept = try await store.tips.load(
        session: try Dummy.session(1), generation: Generation(1))
      #expect(kept.map(\.tip.id) == ["a"])
    }
    #expect(try !fixture.names().contains { $0.contains("damaged") })
  }

  /// I9: a number that a sign-in took before it failed is not given again.
  @Test func `a start knows the highest generation that either database has seen`() async throws {
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      script.fail(.sessionToBeWritten, with: .full)
      await #expect(throws: StoreError.full) { try await store.sessions.install(3) }
      script.fail(.sessionToBeWritten, with: nil)
    }
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 3)
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 3)
  }
}
