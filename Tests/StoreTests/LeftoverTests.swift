import CFaultVFS
import Execution
import FoundationEssentials
import Platform
import Session
import Store
import TestSupport
import Testing

/// Files that are made before the commit that gives them a meaning: where it fails they go again, at
/// once or as soon as that works.
@Suite(.timeLimit(.minutes(1)))
struct LeftoverTests {
  /// What stands in a directory of one signed-in session with nothing to be revoked.
  private static func expected(_ session: UInt8?) throws -> [String] {
    let own = try session.map { number in
      let hex = try Dummy.session(number).hex
      return ["session-\(hex).key", "session-\(hex).rescue"]
    }
    return
      ([
        "brewlogd.lock", "keyring", "master.key", "session.db", "session.db-shm", "session.db-wal",
        "tips.db", "tips.db-shm", "tips.db-wal",
      ] + (own ?? [])).sorted()
  }

  /// So many writes to the session's database fail.
  private static func failingWrites(_ count: Locked<Int>) -> StoreHooks {
    StoreHooks { step in
      guard step == .sessionToBeWritten else { return nil }
      return count.withLock { count in
        guard count > 0 else { return nil }
        count -= 1
        return .full
      }
    }
  }

  @Test(
    arguments: [StoreStep.keyFileWritten, .sessionToBeWritten, .sessionWritten].flatMap { step in
      [StoreError.full, .failed("the disk fails")].map { (step, $0) }
    })
  func `a sign-in that fails leaves no file, neither its own nor the outbox's key`(
    step: StoreStep, error: StoreError
  ) async throws {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(step, with: error)
      await #expect(throws: error) {
        _ = try await store.sessions.install(
          try Dummy.record(3), permit: try Dummy.permit(3), revoking: try Dummy.record(1))
      }
      script.fail(step, with: nil)
      // After its commit it has taken place, whatever came then.
      if step == .sessionWritten {
        #expect(try await store.sessions.pending().count == 1)
        return
      }
      #expect(try fixture.names() == (try Self.expected(1)))
      #expect(try await store.sessions.pending() == [])
      #expect(try await store.sessions.verifyErasure() == [])
      try await store.sessions.commit(1, rotation: 1)
    }
  }

  @Test func `what a failed commit may still need stays until the log is empty, and goes then`()
    async throws
  {
    let script = Script()
    var fixture = try StoreFixture(hooks: script.hooks)
    // Nothing here may wait for the reader: no test would see the end of it.
    fixture.configuration.busyTimeout = .seconds(86_400)
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.commit(1, rotation: 1)
      let reader = try HoldingReader(fixture.path("session.db"))
      try await store.sessions.commit(1, rotation: 2)
      script.fail(.sessionToBeWritten, with: .full)
      await #expect(throws: StoreError.full) {
        _ = try await store.sessions.install(
          try Dummy.record(3), permit: try Dummy.permit(3), revoking: try Dummy.record(1))
      }
      script.fail(.sessionToBeWritten, with: nil)
      try await store.sessions.commit(1, rotation: 3)
      #expect(try fixture.names().contains("outbox.key"))
      #expect(try fixture.sessionKeys().count == 2)
      reader.close()
      try await store.sessions.commit(1, rotation: 4)
      #expect(try fixture.names() == (try Self.expected(1)))
    }
  }

  @Test func `an entry that the outbox does not take leaves no key`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      let holder = try HoldingReader(fixture.path("session.db"), writing: true)
      await #expect(throws: StoreError.busy) {
        try await store.sessions.add(try Dummy.record(1))
      }
      holder.close()
      _ = await store.sessions.settle()
      #expect(try fixture.names() == (try Self.expected(1)))
      #expect(try await store.sessions.verifyErasure() == [])
    }
  }

  @Test func `a logout whose revocation cannot be queued leaves no key`() async throws {
    let failures = Locked(0)
    let fixture = try StoreFixture(hooks: Self.failingWrites(failures))
    try await fixture.life { store in
      try await store.sessions.install(1)
      failures.withLock { $0 = 1 }
      let isQueued = try await store.sessions.destroy(
        through: Generation(2), reason: "logout", revoking: try Dummy.record(1))
      #expect(!isQueued)
      #expect(try fixture.names() == (try Self.expected(nil)))
      #expect(try await store.sessions.verifyErasure() == [])
    }
  }

  @Test func `a key that could not be destroyed at a logout leaves none for the outbox`()
    async throws
  {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(.keysToBeDestroyed, with: .readOnly)
      await #expect(throws: StoreError.readOnly) {
        _ = try await store.sessions.destroy(
          through: Generation(2), reason: "logout", revoking: try Dummy.record(1))
      }
      script.fail(.keysToBeDestroyed, with: nil)
      #expect(try fixture.names() == (try Self.expected(1)))
      // The session's own files are the logout's to destroy, which is tried again.
      _ = await store.sessions.settle()
      #expect(try fixture.names() == (try Self.expected(1)))
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      #expect(try fixture.names() == (try Self.expected(nil)))
    }
  }

  @Test func `the outbox's key waits for what an unfinished logout will add`() async throws {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(.sessionToBeWritten, with: .full)
      let isQueued = try await store.sessions.destroy(
        through: Generation(2), reason: "logout", revoking: try Dummy.record(1))
      #expect(!isQueued)
      // What works the outbox off finds it empty.
      #expect(try await store.sessions.pending() == [])
      #expect(try fixture.names().contains("outbox.key"))
      script.fail(.sessionToBeWritten, with: nil)
      #expect(await store.sessions.settle() == StoreHealth())
      let entry = try #require(try await store.sessions.pending().first)
      #expect(try await store.sessions.refreshToken(of: entry.id) == Dummy.refresh(0))
    }
  }

  @Test func `a sign-in takes over what an unfinished logout was to hand to the outbox`()
    async throws
  {
    let failures = Locked(0)
    let fixture = try StoreFixture(hooks: Self.failingWrites(failures))
    try await fixture.life { store in
      try await store.sessions.install(1)
      // With the revocation and without; and once more before the sign-in.
      failures.withLock { $0 = 4 }
      _ = try await store.sessions.destroy(
        through: Generation(2), reason: "logout", revoking: try Dummy.record(1))
      let isQueued = try await store.sessions.install(
        try Dummy.record(3), permit: try Dummy.permit(3), revoking: nil)
      #expect(isQueued)
      let entry = try #require(try await store.sessions.pending().first)
      #expect(try await store.sessions.refreshToken(of: entry.id) == Dummy.refresh(0))
    }
  }

  @Test func `what a sign-in could not destroy of the old session goes with the next write`()
    async throws
  {
    let script = Script()
    let fixture = try StoreFixture(hooks: script.hooks)
    try await fixture.life { store in
      try await store.sessions.install(1)
      script.fail(.keysToBeDestroyed, with: .readOnly)
      try await store.sessions.install(3)
      #expect(try fixture.sessionKeys().count == 2)
      script.fail(.keysToBeDestroyed, with: nil)
      try await store.sessions.append([
        EventRecord(
          sequence: 1, at: fixture.configuration.clock(), kind: "imported",
          generation: Generation(3))
      ])
      #expect(try fixture.names() == (try Self.expected(3)))
      #expect(try await store.sessions.verifyErasure() == [])
    }
  }

  @Test func `the outbox's key goes with the entry that has waited for a day`() async throws {
    let time = Locked(WallTime(milliseconds: 1_750_000_000_000))
    var fixture = try StoreFixture()
    fixture.configuration.clock = { time.withLock { $0 } }
    try await fixture.life { store in
      try await store.sessions.add(try Dummy.record(1))
      time.withLock { $0 = $0.advanced(by: .seconds(86_401)) }
      let port: any RevocationOutbox = store.sessions
      #expect(try await port.dropExpired() == 1)
      #expect(try !fixture.names().contains("outbox.key"))
    }
  }

  @Test(arguments: [true, false])
  func `a start removes a key for the outbox that a kill has left without an entry`(
    isSignedIn: Bool
  ) async throws {
    let fixture = try StoreFixture()
    var key: [UInt8] = []
    try await fixture.life { store in
      if isSignedIn { try await store.sessions.install(1) }
      try await store.sessions.add(try Dummy.record(1))
      key = try fixture.contents("outbox.key")
      try await store.sessions.forgetAll()
    }
    try fixture.put(key, "outbox.key")
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      #expect(try fixture.names() == (try Self.expected(isSignedIn ? 1 : nil)))
    }
  }

  @Test func `a start leaves the key of what waits`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.add(try Dummy.record(1)) }
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      let entry = try #require(try await store.sessions.pending().first)
      #expect(try await store.sessions.refreshToken(of: entry.id) == Dummy.refresh(0))
    }
  }
}

@Suite(.timeLimit(.minutes(1)))
struct ReplacementTests {
  @Test func `a file that cannot take the other's place leaves none`() throws {
    let scratch = try ScratchDirectory()
    let directory = try SecureDirectory(at: scratch.path("state"))
    // A directory has the name: rename(2) refuses.
    try FileManager.default.createDirectory(
      atPath: scratch.path("state/a.key"), withIntermediateDirectories: false)
    #expect(throws: DirectoryError.self) { try directory.replace("a.key", with: [1, 2, 3]) }
    #expect(try directory.names() == ["a.key"])
  }
}
