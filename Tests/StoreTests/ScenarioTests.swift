import CDisk
import FoundationEssentials
import Glibc
import Platform
import Secrets
import Session
import Store
import TestSupport
import Testing

/// Faults that others have met, in the store alone. Each name begins with its scenario's number.
@Suite(.timeLimit(.minutes(1)))
struct ScenarioTests {
  @Test(arguments: [StoreStep.keysDestroyed, .tipsFenceMoved, .sessionToBeWritten, .sessionWritten])
  func `B102: a kill between a logout's steps leaves no tip for the next account`(
    step: StoreStep
  ) async throws {
    // What a kill leaves at that step: a copy, taken from inside it.
    let copied = Locked<(from: String, to: String)?>(nil)
    let fixture = try StoreFixture(
      hooks: StoreHooks { reached in
        if reached == step, let (from, to) = copied.withLock({ $0.take() }) {
          try? FileManager.default.copyItem(atPath: from, toPath: to)
        }
        return nil
      })
    var killed = fixture
    killed.configuration.directory = fixture.scratch.path("killed")
    killed.configuration.hooks = StoreHooks()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
      copied.withLock { $0 = (fixture.directory, killed.configuration.directory) }
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
    }
    try await killed.life { store in
      let generation = try await store.sessions.loaded().generation
      #expect(generation == 2)
      #expect(try await store.sessions.inspect().cachedTips == 0)
      try await store.sessions.install(3)
      #expect(
        try await store.tips.load(session: try Dummy.session(3), generation: Generation(3)) == [])
    }
  }

  /// The holder lets go while the commit waits, which is seen by its waits, not by a clock.
  @Test func `B120: a database that another process holds for a while is waited for`()
    async throws
  {
    var fixture = try StoreFixture()
    fixture.configuration.busyTimeout = .seconds(30)
    let path = fixture.path("session.db")
    try await fixture.life { store in
      try await store.sessions.install(1)
      let holder = try HoldingReader(path, writing: true)
      let before = StoreProgress.waits
      async let commit: Void = store.sessions.commit(1, rotation: 1)
      while StoreProgress.waits < before + 3 { await Task.yield() }
      holder.close()
      try await commit
      #expect(await store.sessions.settle() == StoreHealth())
    }
    #expect(try await fixture.life { try await $0.sessions.loaded() }.refresh == Dummy.refresh(1))
  }

  @Test func `B193: what describes a session describes no token`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.commit(1, rotation: 1)
      let loaded = try await store.sessions.loaded()
      let facts = try #require(loaded.facts)
      let persisted = try await store.sessions.inspect()
      let pending = try await store.sessions.pending()
      let error = #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
      for value in [facts, persisted, pending, error as Any, store, store.sessions, store.tips]
        as [Any]
      {
        var text = "\(value)" + String(reflecting: value)
        dump(value, to: &text)
        #expect(Dummy.search.find(in: Array(text.utf8)) == nil, "\(type(of: value))")
      }
    }
  }

  /// The compiler refuses to print, interpolate, dump or encode these, as it does with anything that
  /// cannot be copied. So does a fault's text: it cannot be made of one.
  @Test(arguments: [
    ("Secrets/Secret.swift", "Secret"), ("Secrets/SealingKey.swift", "SealingKey"),
    ("Session/SessionRecord.swift", "TokenPair"), ("Session/SessionRecord.swift", "SessionRecord"),
    ("Session/SessionRecord.swift", "LoadedSession"), ("Store/Keys/Keyring.swift", "Keyring"),
  ])
  func `B193: what holds a token or a key cannot be described at all`(
    file: String, type: String
  ) throws {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let folder = file.split(separator: "/").dropLast().joined(separator: "/")
    let directory = "/\(root)/Sources/\(folder)"
    let text = try FileManager.default.subpathsOfDirectory(atPath: directory)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOfFile: directory + "/" + $0, encoding: .utf8) }.joined()
    #expect(text.contains("struct \(type): ~Copyable"))
  }
}

/// What a kernel does after a disk's error, in the calls: reads go on, nothing else does. The same on
/// a real disk is in the end-to-end tests, where there is a loop device and root.
@Suite(.serialized, .interposed, .timeLimit(.minutes(1)))
struct ReadOnlyDiskTests {
  @Test func `a logout leaves a tombstone, and what it could not destroy goes as soon as it can`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try await store.sessions.install(1)
    disk_refuse(fixture.directory, EROFS)
    defer { disk_refuse(nil, 0) }
    await #expect(throws: StoreError.readOnly) {
      try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
    }
    await #expect(throws: StoreError.readOnly) {
      try await store.sessions.destroy(through: Generation(4), reason: "logout")
    }
    #expect(FileManager.default.fileExists(atPath: fixture.scratch.path("run/logout.tombstone")))
    #expect(try fixture.sessionKeys().count == 1)
    // It heals under the running daemon: the logout that is asked for again is done.
    disk_refuse(nil, 0)
    try await store.sessions.destroy(through: Generation(4), reason: "logout")
    #expect(try fixture.sessionKeys().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: fixture.scratch.path("run/logout.tombstone")))
    #expect(try await store.sessions.verifyErasure() == [])
    await store.sessions.close()
  }

  @Test func `a restart before it heals starts nothing, and one after it obeys the tombstone`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try await store.sessions.install(1)
    disk_refuse(fixture.directory, EROFS)
    defer { disk_refuse(nil, 0) }
    await #expect(throws: StoreError.readOnly) {
      try await store.sessions.destroy(through: Generation(4), reason: "logout")
    }
    await store.sessions.close()
    let error = try #require(#expect(throws: StoreOpenError.self) { _ = try fixture.open() })
    #expect(error.exitCode == 73 && error.message.contains(fixture.directory))
    disk_refuse(nil, 0)
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.facts == nil && loaded.generation == 4)
    #expect(try fixture.sessionKeys().isEmpty)
  }

  @Test(arguments: [EROFS, EACCES])
  func `B125: a directory that takes no writes is named, not taken for one without a session`(
    code: Int32
  ) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let names = try fixture.names()
    let before = try names.map { try fixture.contents($0) }
    disk_refuse(fixture.directory, code)
    defer { disk_refuse(nil, 0) }
    let error = try #require(#expect(throws: StoreOpenError.self) { _ = try fixture.open() })
    #expect(error.exitCode == 73 && error.message.contains(fixture.directory), "\(error.message)")
    disk_refuse(nil, 0)
    #expect(try fixture.names() == names)
    #expect(try names.map { try fixture.contents($0) } == before)
    #expect(try await fixture.life { try await $0.sessions.loaded() }.refresh == Dummy.refresh(0))
  }
}
