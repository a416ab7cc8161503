import FoundationEssentials
import Glibc
import Session
import Store
import TestSupport
import Testing
import Tips

/// What may become of a state directory, and what the start then does.
struct Damage: CustomTestStringConvertible, Sendable {
  enum Outcome: Equatable, Sendable {
    /// Signed out, with the reason; the file is kept under a dated name.
    case setAside
    /// The start fails with this exit code, and nothing is touched.
    case refused(Int32)
    case signedOut
    case restored
  }

  let testDescription: String
  let outcome: Outcome
  let inflict: @Sendable (StoreFixture) throws -> Void

  init(
    _ name: String, _ outcome: Outcome, _ inflict: @escaping @Sendable (StoreFixture) throws -> Void
  ) {
    testDescription = name
    self.outcome = outcome
    self.inflict = inflict
  }

  static let all: [Damage] = [
    Damage("garbage", .setAside) {
      try $0.put([UInt8](repeating: 0x5a, count: 20_000), "session.db")
    },
    Damage("no length", .setAside) { try $0.put([], "session.db") },
    Damage("half of it", .setAside) { fixture in
      let bytes = try fixture.contents("session.db")
      try fixture.put(Array(bytes.prefix(bytes.count / 2)), "session.db")
    },
    Damage("fifty bytes of it", .setAside) { fixture in
      try fixture.put(Array(try fixture.contents("session.db").prefix(50)), "session.db")
    },
    Damage("another program's database", .setAside) { fixture in
      try fixture.put(try fixture.contents("tips.db"), "session.db")
    },
    Damage("a directory in its place", .setAside) { fixture in
      try fixture.remove("session.db")
      try fixture.makeDirectory("session.db")
    },
    Damage("a flipped bit in the sealed pair", .setAside) { try flip($0, after: "BLS1", by: 60) },
    Damage("a flipped bit in the facts", .setAside) { try flip($0, after: "api.example", by: -1) },
    Damage("a flipped bit in the header", .setAside) { try flip($0, at: 3) },
    Damage("a flipped bit in the schema", .setAside) {
      try flip($0, after: "CREATE TABLE store", by: 0)
    },
    Damage("a text file", .setAside) {
      try $0.put(
        Array(String(repeating: "no database at all\n", count: 500).utf8), "session.db")
    },
    Damage("a version mark of none on tables that are there", .setAside) {
      try setVersion($0, to: 0)
    },
    Damage("a table more than there should be", .restored) { try addTable($0) },
    Damage("a log of another database", .setAside) { fixture in
      try fixture.put(try foreignLog(), "session.db-wal")
    },
    Damage("a log without its database", .setAside) { fixture in
      try fixture.remove("session.db")
      try fixture.put(try foreignLog(), "session.db-wal")
    },
    Damage("a log of garbage", .restored) { fixture in
      try fixture.put([UInt8](repeating: 7, count: 9000), "session.db-wal")
    },
    Damage("no database at all", .signedOut) { try $0.remove("session.db") },
    Damage("no session key", .signedOut) { try $0.remove(try $0.sessionKeys()[0]) },
    Damage("a session key of garbage", .signedOut) { fixture in
      try fixture.put([1, 2, 3], try fixture.sessionKeys()[0])
    },
    Damage("a longer session key", .signedOut) { fixture in
      let name = try fixture.sessionKeys()[0]
      try fixture.put(try fixture.contents(name) + [0], name)
    },
    Damage("a directory in the session key's place", .signedOut) { fixture in
      let name = try fixture.sessionKeys()[0]
      try fixture.remove(name)
      try fixture.makeDirectory(name)
    },
    Damage("a rescue slot of garbage", .restored) { fixture in
      let name = try #require(try fixture.names().first { $0.hasSuffix(".rescue") })
      try fixture.put([UInt8](repeating: 9, count: 100), name)
    },
    Damage("no rescue slot", .restored) { fixture in
      try fixture.remove(try #require(try fixture.names().first { $0.hasSuffix(".rescue") }))
    },
    Damage("a mode that is too wide", .restored) { chmod($0.path("session.db"), 0o666) },
    Damage("a tip store of garbage", .restored) { try $0.put([1, 2, 3], "tips.db") },
    Damage("a directory in the tip store's place", .restored) { fixture in
      try fixture.remove("tips.db")
      try fixture.makeDirectory("tips.db")
    },
    Damage("no tip store", .restored) { try $0.remove("tips.db") },
    Damage("no master key", .refused(66)) { try $0.remove("master.key") },
    Damage("another master key", .refused(66)) { fixture in
      try fixture.put([UInt8](repeating: 3, count: 32), "master.key")
    },
    Damage("an empty master key", .refused(66)) { try $0.put([], "master.key") },
    Damage("no keyring", .refused(66)) { try $0.remove("keyring") },
    Damage("a keyring of garbage", .refused(66)) { try $0.put([1, 2, 3], "keyring") },
    Damage("garbage, and no master key", .refused(66)) { fixture in
      try fixture.put([1, 2, 3], "session.db")
      try fixture.remove("master.key")
    },
    Damage("a newer schema", .refused(65)) { try setSchema($0, "session.db", 99) },
    Damage("tips of a newer schema", .refused(65)) { try setSchema($0, "tips.db", 99) },
    Damage("a link in its place", .refused(73)) { fixture in
      let elsewhere = fixture.scratch.path("elsewhere.db")
      try FileManager.default.moveItem(atPath: fixture.path("session.db"), toPath: elsewhere)
      try FileManager.default.createSymbolicLink(
        atPath: fixture.path("session.db"), withDestinationPath: elsewhere)
    },
  ]
}

@Suite(.timeLimit(.minutes(1)))
struct DamageTests {
  /// B126, B131: one rule for all, nothing deleted, and Status tells.
  @Test(arguments: Damage.all)
  func `a damaged state directory has the outcome that the design gives it`(
    damage: Damage
  ) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(4)
      try await store.tips.put(try Dummy.tip(4, id: "a"), permit: try Dummy.permit(4))
    }
    try damage.inflict(fixture)
    let before = try snapshot(fixture)
    switch damage.outcome {
    case .refused(let code):
      let error = #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
      #expect(error?.exitCode == code)
      #expect(try snapshot(fixture) == before)
    case .restored:
      let loaded = try await fixture.life { try await $0.sessions.loaded() }
      #expect(loaded.generation == 4 && loaded.refresh == Dummy.refresh(0))
    case .setAside, .signedOut:
      let loaded = try await fixture.life { try await $0.sessions.loaded() }
      #expect(loaded.facts == nil && loaded.generation == 5)
      #expect(try fixture.sessionKeys() == [])
      let kept = try fixture.names().filter { $0.hasPrefix("session.db.damaged-") }
      #expect(kept.isEmpty == (damage.outcome == .signedOut), "\(kept)")
      if damage.outcome == .setAside {
        let reason = try #require(loaded.reason)
        #expect(reason.hasPrefix("the store was damaged and set aside as session.db.damaged-2025"))
      }
    }
    if case .refused = damage.outcome { return }
    // Whatever it was, the store works on from here.
    try await fixture.life { store in
      let loaded = try await store.sessions.loaded()
      let next = loaded.generation + 1
      try await store.sessions.install(next)
      try await store.sessions.commit(next, rotation: 1)
      #expect(try await store.sessions.verifyErasure() == [])
    }
  }

  @Test(
    .enabled(if: geteuid() == 0, "needs to give a file away"),
    arguments: ["session.db", "tips.db", "keyring", "session.db-wal", "session.db-shm"])
  func `B124: a file of another user is refused untouched, in one line that names both`(
    name: String
  ) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    if access(fixture.path(name), F_OK) != 0 { try fixture.put([1], name) }
    chown(fixture.path(name), 12_345, 12_345)
    let before = try snapshot(fixture)
    let error = try #require(
      #expect(throws: StoreOpenError.self) { _ = try fixture.open() })
    #expect(error.exitCode == 73)
    #expect(error.message.contains("\(fixture.path(name)) belongs to user 12345"))
    #expect(error.message.contains("running user 0") && !error.message.contains("\n"))
    var status = stat()
    #expect(stat(fixture.path(name), &status) == 0 && status.st_uid == 12_345)
    #expect(try snapshot(fixture) == before)
  }

  @Test(.enabled(if: geteuid() == 0, "needs to give a directory away"))
  func `a state directory of another user is refused`() throws {
    let fixture = try StoreFixture()
    try FileManager.default.createDirectory(
      atPath: fixture.directory, withIntermediateDirectories: true)
    chown(fixture.directory, 12_345, 12_345)
    #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
  }

  @Test func `a state directory that is a link is refused`() throws {
    let fixture = try StoreFixture()
    try FileManager.default.createSymbolicLink(
      atPath: fixture.directory, withDestinationPath: fixture.scratch.path)
    let error = #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
    #expect(error?.exitCode == 73)
  }

  @Test func `a torn page among the tips is found after the start and costs the tips alone`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(4)
      for number in 0..<100 {
        try await store.tips.put(
          try Dummy.tip(4, id: "tip-\(number)"), permit: try Dummy.permit(4))
      }
    }
    var bytes = try fixture.contents("tips.db")
    // Past the schema and the fence: only a look at every page finds it.
    for index in (bytes.count - 4096)..<bytes.count { bytes[index] = 0x5A }
    try fixture.put(bytes, "tips.db")
    try await fixture.life { store in
      #expect(store.warnings.isEmpty)
      #expect(try await store.sessions.loaded().refresh == Dummy.refresh(0))
      let found = await store.checkTips()
      #expect(found.contains { $0.contains("set aside as tips.db.damaged-") }, "\(found)")
      // The new one takes the present session's tips at once, without being read first.
      try await store.tips.put(try Dummy.tip(4, id: "first"), permit: try Dummy.permit(4))
      #expect(await store.checkTips().isEmpty)
      let kept = try await store.tips.load(
        session: Dummy.session(4), generation: Generation(4))
      #expect(kept.map(\.tip.id) == ["first"])
      try await store.tips.put(try Dummy.tip(4, id: "new"), permit: try Dummy.permit(4))
    }
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      #expect(await store.checkTips().isEmpty)
      #expect(
        try await store.tips.load(
          session: Dummy.session(4), generation: Generation(4)
        ).count == 2)
    }
  }

  @Test func `one tip is read alone, of the present session only`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(4)
      for id in ["a", "b"] {
        try await store.tips.put(try Dummy.tip(4, id: id), permit: try Dummy.permit(4))
      }
    }
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      let (session, generation) = (try Dummy.session(4), Generation(4))
      let found = try await store.tips.stored(.item("b"), session: session, generation: generation)
      #expect(found?.tip.id == "b")
      let none = try await store.tips.stored(.today, session: session, generation: generation)
      #expect(none == nil)
      await #expect(throws: StoreError.generationMoved(stored: generation)) {
        _ = try await store.tips.stored(
          .item("b"), session: Dummy.session(5), generation: Generation(5))
      }
    }
  }

  @Test func `a store that is damaged twice on one day keeps both`() async throws {
    let fixture = try StoreFixture()
    for _ in 0..<2 {
      try await fixture.life { _ = try await $0.sessions.loaded() }
      try fixture.put([1], "session.db")
    }
    _ = try await fixture.life { try await $0.sessions.loaded() }
    #expect(try fixture.names().filter { $0.hasPrefix("session.db.damaged-") }.count == 2)
  }

  /// Every byte of the pages that hold the row: found, or without effect on what is restored.
  @Test func `a flipped bit anywhere never restores another pair`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(4) }
    let names = try fixture.names().filter { $0 != "brewlogd.lock" }
    var good: [String: [UInt8]] = [:]
    for name in names { good[name] = try fixture.contents(name) }
    let database = try #require(good["session.db"])
    for index in stride(from: 0, to: database.count, by: 613) {
      var bytes = database
      bytes[index] ^= 1 << UInt8(index % 8)
      for name in try fixture.names() where good[name] == nil { try fixture.remove(name) }
      for (name, content) in good { try fixture.put(content, name) }
      try fixture.put(bytes, "session.db")
      let loaded: Loaded
      do {
        loaded = try await fixture.life { try await $0.sessions.loaded() }
      } catch let error as StoreOpenError {
        // The version in the header: taken for a newer schema's.
        #expect(error.exitCode == 65, "byte \(index)")
        continue
      }
      if loaded.facts != nil {
        #expect(try loaded.facts == Dummy.facts(4), "byte \(index)")
        #expect(loaded.refresh == Dummy.refresh(0), "byte \(index)")
      }
    }
  }

  private func snapshot(_ fixture: StoreFixture) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try fixture.names() where name != "brewlogd.lock" {
      files[name] = (try? fixture.contents(name)) ?? []
    }
    return files
  }
}

private func flip(_ fixture: StoreFixture, at index: Int) throws {
  var bytes = try fixture.contents("session.db")
  bytes[index] ^= 0x04
  try fixture.put(bytes, "session.db")
}

private func flip(_ fixture: StoreFixture, after text: String, by distance: Int) throws {
  let bytes = try fixture.contents("session.db")
  let mark = Array(text.utf8)
  let index = try #require(
    (0...(bytes.count - mark.count)).first { bytes[$0..<($0 + mark.count)].elementsEqual(mark) })
  try flip(fixture, at: index + mark.count + distance)
}

/// A log with committed pages of a database that is not this one.
private func foreignLog() throws -> [UInt8] {
  let scratch = try ScratchDirectory()
  let log = try foreignDatabaseLog(at: scratch.path("other.db"))
  #expect(log.count > 4096)
  return log
}

private func setSchema(_ fixture: StoreFixture, _ name: String, _ version: UInt8) throws {
  // The version stands at offset 60 of the header; the oldest reader in a table that a later
  // version would have raised, too.
  try raiseSchema(at: fixture.path(name), to: Int(version))
}
