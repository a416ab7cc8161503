import FoundationEssentials
import Glibc
import Session
import Testing
import Tips

@testable import Store

extension PowerScenario {
  /// From the schema that is released to one that may follow it.
  static let migration = PowerScenario(
    testDescription: "a migration", before: ["the session, migrated"], needsSession: false,
    restart: { bench, image in try whatMigrationLeft(bench, image + "/state") },
    prepare: { bench in try SchemaFixture.copy(1, to: bench.fixture.directory) }
  ) { bench, script in
    try await script.step("migrate") {
      var warnings: [String] = []
      let directory = try StateDirectory(at: bench.fixture.directory, warnings: &warnings)
      try sessionFile(in: directory, bench).open(warnings: &warnings).database.close()
    }
  }

  private static func sessionFile(
    in directory: StateDirectory, _ bench: PowerBench
  ) -> DatabaseFile {
    DatabaseFile(
      directory: directory, name: "session.db", schema: SchemaFixture.next, options: .init(),
      now: bench.fixture.configuration.clock())
  }

  /// The next start migrates what is not migrated; where the file is migrated already, the backup
  /// has to be there, and whole.
  private static func whatMigrationLeft(_ bench: PowerBench, _ path: String) throws -> String {
    var warnings: [String] = []
    let directory = try StateDirectory(at: path, warnings: &warnings)
    let isMigrated = try {
      let database = try Database(path: path + "/session.db", options: .init())
      defer { database.close() }
      return try database.pragma("user_version") == SchemaFixture.next.version
    }()
    if isMigrated {
      let backup = try Database(path: path + "/session.db.backup-v1", options: .init())
      guard try backup.integrity() == .whole, try backup.sessionRow() != nil,
        try backup.pragma("user_version") == 1
      else { return "migrated, but the backup is not whole" }
    }
    let opened = try sessionFile(in: directory, bench).open(warnings: &warnings)
    guard opened.setAside == nil, warnings.isEmpty,
      try opened.database.pragma("user_version") == SchemaFixture.next.version,
      try opened.database.integrity() == .whole
    else { return "damaged: \(warnings)" }
    return try opened.database.sessionRow() != nil ? "the session, migrated" : "no session"
  }
}

/// State directories as released versions have left them, with the dummies' session in them.
enum SchemaFixture {
  /// What a schema after the newest released one might be.
  static let next = Schema(
    applicationID: Schema.session.applicationID,
    migrations: Schema.session.migrations + [
      Migration(
        version: Schema.session.version + 1, minimumReader: Schema.session.version + 1,
        statements: [
          "ALTER TABLE session ADD COLUMN note TEXT",
          "CREATE TABLE added (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
          "UPDATE session SET note = 'migrated'",
        ])
    ])

  static let released = [1, 2]

  static func copy(_ version: Int, to directory: String) throws {
    let fixtures = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    try FileManager.default.copyItem(
      atPath: "/\(fixtures)/Fixtures/schema-\(version)", toPath: directory)
    chmod(directory, 0o700)
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
      // A working copy has no such modes.
      chmod(directory + "/" + name, 0o600)
    }
  }
}

@Suite(.timeLimit(.minutes(1)))
struct SchemaFixtureTests {
  /// B132: it is migrated before anything asks it for what it does not have yet.
  @Test(arguments: SchemaFixture.released)
  func `a store of every released schema opens with its session, tips and history`(
    version: Int
  ) async throws {
    let fixture = try StoreFixture()
    try SchemaFixture.copy(version, to: fixture.directory)
    try await fixture.life { store in
      #expect(store.warnings == [])
      let loaded = try await store.sessions.loaded()
      #expect(try loaded.facts == Dummy.facts(1, rotation: 1))
      #expect(loaded.access == Dummy.access(1) && loaded.refresh == Dummy.refresh(1))
      let tips = try await store.tips.load(
        session: try Dummy.session(1), generation: .init(1))
      #expect(tips.map(\.tip.id) == ["a"])
      #expect(try await store.sessions.newest(limit: 10).map(\.kind) == ["refreshSucceeded"])
      let pending = try await store.sessions.pending()
      #expect(try await store.sessions.refreshToken(of: pending[0].id) == Dummy.refresh(3))
      #expect(try await store.sessions.inspect().schemaVersion == Schema.session.version)
      try await store.sessions.commit(1, rotation: 2)
    }
    #expect(try await fixture.life { try await $0.sessions.loaded() }.refresh == Dummy.refresh(2))
  }

  @Test func `the released schemas are all that there are`() {
    #expect(SchemaFixture.released == Schema.session.migrations.map(\.version))
  }
}
