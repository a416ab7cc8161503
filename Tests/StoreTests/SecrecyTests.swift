import FoundationEssentials
import Secrets
import Session
import Store
import TestSupport
import Testing

/// I10, and what a logout promises.
@Suite(.timeLimit(.minutes(1)))
struct SecrecyTests {
  @Test func `no token stands in any file, raw, in hexadecimal or in base64`() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try await store.sessions.install(1)
    try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
    try await store.sessions.commit(1, rotation: 1)
    // While it is open, so that the logs are still there.
    for name in try fixture.names() {
      let bytes = try fixture.contents(name)
      for token in [0, 1].flatMap({ [Dummy.access($0), Dummy.refresh($0)] }) {
        #expect(traces(of: token, in: bytes) == [], "\(name)")
      }
    }
    await store.sessions.close()
  }

  @Test func `the search for traces finds them`() {
    let token = Dummy.refresh(0)
    let raw = Array(token.utf8)
    #expect(traces(of: token, in: [1, 2] + raw + [3]) == ["raw"])
    #expect(traces(of: token, in: Array(raw.hex.utf8)) == ["hex"])
    for shift in 0..<3 {
      let text = Data([UInt8](repeating: 7, count: shift) + raw + [9]).base64EncodedString()
      #expect(traces(of: token, in: Array(text.utf8)) == ["base64"])
    }
  }

  @Test func `a logout leaves no key, no row, no tip and empty logs`() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try await store.sessions.install(1)
    try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
    try await store.sessions.destroy(through: Generation(2), reason: "logout")
    #expect(try fixture.names().filter { $0.hasPrefix("session-") } == [])
    #expect(try fixture.contents("session.db-wal").isEmpty)
    #expect(try fixture.contents("tips.db-wal").isEmpty)
    #expect(traces(of: "BLS1", in: try fixture.contents("session.db")) == [])
    #expect(traces(of: "pour-over", in: try fixture.contents("tips.db")) == [])
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

/// Where a token shows in these bytes. Base64 is looked for at all three shifts, without the
/// characters that its neighbours share.
func traces(of token: String, in bytes: [UInt8]) -> [String] {
  let raw = Array(token.utf8)
  var found: [String] = []
  if contains(bytes, raw) { found.append("raw") }
  if contains(bytes, Array(raw.hex.utf8)) { found.append("hex") }
  for shift in 0..<3 {
    let text = Array(
      Data([UInt8](repeating: 0, count: shift) + raw).base64EncodedString().utf8
        .filter { $0 != UInt8(ascii: "=") })
    let core = Array(text.dropFirst(shift == 0 ? 0 : shift + 1).dropLast(2))
    if core.count > 4, contains(bytes, core) { found.append("base64") }
  }
  return found
}

private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
  guard let first = part.first, bytes.count >= part.count else { return false }
  return (0...(bytes.count - part.count)).contains { start in
    bytes[start] == first && bytes[start..<(start + part.count)].elementsEqual(part)
  }
}
