import FoundationEssentials
import Secrets
import Session
import Store
import TestSupport
import Testing

/// I10, and what a logout promises.
@Suite(.timeLimit(.minutes(1)))
struct SecrecyTests {
  /// B134: neither while the session lasts nor after it, in the databases, their logs, the slot or
  /// the keys; a set-aside file and a backup included.
  @Test func `no token stands in any file, in any form, and no eight bytes of one`() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try await store.sessions.install(1)
    for rotation in 1...2 {
      try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
      try await store.sessions.commit(1, rotation: rotation)
    }
    // While it is open, so that the logs are still there.
    try expectNoToken(fixture)
    _ = try await store.sessions.destroy(
      through: Generation(2), reason: "logout", revoking: try Dummy.record(1, rotation: 2))
    try expectNoToken(fixture)
    await store.sessions.close()
    try expectNoToken(fixture)
  }

  private func expectNoToken(_ fixture: StoreFixture) throws {
    let names = try fixture.names()
    #expect(names.count > 4)
    for name in names {
      #expect(Dummy.search.find(in: try fixture.contents(name)) == nil, "\(name)")
    }
  }

  /// B100: the raw bytes, too: of the databases and of their logs.
  @Test func `a logout leaves no key, no row, no tip and empty logs`() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try await store.sessions.install(1)
    try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
    try await store.sessions.destroy(through: Generation(2), reason: "logout")
    #expect(try fixture.names().filter { $0.hasPrefix("session-") } == [])
    #expect(try fixture.contents("session.db-wal").isEmpty)
    #expect(try fixture.contents("tips.db-wal").isEmpty)
    for name in try fixture.names() {
      let bytes = try fixture.contents(name)
      #expect(bytes.firstRange(of: Array("BLS1".utf8)) == nil, "\(name)")
      #expect(bytes.firstRange(of: Array("pour-over".utf8)) == nil, "\(name)")
    }
    let persisted = try await store.sessions.inspect()
    #expect(persisted.facts == nil && persisted.signedOutReason == "logout")
    #expect(persisted.cachedTips == 0)
    await store.sessions.close()
  }

  @Test func `a logout destroys the key first, then moves the tips' fence, then the rows`()
    async throws
  {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.forget()
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
    }
    #expect(
      script.seen == [
        .keysToBeDestroyed, .keysDestroyed, .tipsFenceMoved, .sessionToBeWritten, .sessionWritten,
        .logsEmptied,
      ])
  }

  @Test(arguments: [StoreStep.tipsFenceMoved, .sessionToBeWritten])
  func `a logout whose key is gone succeeds, and what is left is done by the restart`(
    step: StoreStep
  ) async throws {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
      script.fail(step, with: .full)
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      #expect(try fixture.sessionKeys() == [])
      #expect(await store.sessions.settle().unfinishedLogout != nil)
      script.fail(step, with: nil)
    }
    let loaded = try await fixture.life { store in
      let loaded = try await store.sessions.loaded()
      #expect(try await store.sessions.inspect().cachedTips == 0)
      return loaded
    }
    #expect(loaded.facts == nil && loaded.generation == 2)
  }

  @Test func `a restart whose disk still keeps the rows is signed out all the same`()
    async throws
  {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    script.fail(.sessionToBeWritten, with: nil)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(.sessionToBeWritten, with: .full)
      try await store.sessions.destroy(through: Generation(5), reason: "logout")
    }
    for _ in 0..<2 {
      let loaded = try await fixture.life { try await $0.sessions.loaded() }
      #expect(loaded.facts == nil && loaded.generation == 5)
    }
    script.fail(.sessionToBeWritten, with: nil)
    try await fixture.life { store in
      let generation = try await store.sessions.loaded().generation
      #expect(generation == 5)
      let traces = try await store.sessions.verifyErasure()
      #expect(traces == [])
    }
    #expect(try fixture.names().filter { $0.hasPrefix("session-") } == [])
  }

  @Test func `what a logout could not delete is deleted as soon as that works`() async throws {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(.sessionToBeWritten, with: .full)
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      script.fail(.sessionToBeWritten, with: nil)
      #expect(await store.sessions.settle() == StoreHealth())
      #expect(try await store.sessions.inspect().signedOutReason == "logout")
      #expect(try await store.sessions.verifyErasure() == [])
    }
  }

  @Test func `a logout that cannot destroy the key leaves a tombstone, which the restart obeys`()
    async throws
  {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    let tombstone = fixture.scratch.path("run/logout.tombstone")
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(.keysToBeDestroyed, with: .readOnly)
      await #expect(throws: StoreError.readOnly) {
        try await store.sessions.destroy(through: Generation(4), reason: "logout")
      }
      script.fail(.keysToBeDestroyed, with: nil)
    }
    #expect(FileManager.default.fileExists(atPath: tombstone))
    #expect(try fixture.sessionKeys().count == 1)
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.facts == nil && loaded.generation == 4)
    #expect(!FileManager.default.fileExists(atPath: tombstone))
    #expect(try fixture.sessionKeys() == [])
  }

  @Test func `a tombstone of another session is not obeyed`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(3)
      try store.sessions.leaveTombstone(of: try Dummy.session(1), through: Generation(9))
    }
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 3)
  }

  @Test func `a key file that is gone is a logout`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    for name in try fixture.sessionKeys() { try fixture.remove(name) }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.facts == nil && loaded.generation == 2)
    #expect(loaded.reason == "signed out: the session's key is gone")
  }

  @Test(arguments: [StoreStep.keyFileWritten, .sessionToBeWritten])
  func `a sign-in that fails leaves the present session, its tips and no second key`(
    step: StoreStep
  ) async throws {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(step, with: .full)
      await #expect(throws: StoreError.full) { try await store.sessions.install(2) }
      script.fail(step, with: nil)
      #expect(try fixture.sessionKeys().count == 1)
      try await store.sessions.commit(1, rotation: 1)
      try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
    }
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.generation == 1 && loaded.refresh == Dummy.refresh(1))
  }
}
