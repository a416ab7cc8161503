import FoundationEssentials
import Secrets
import Session
import TestSupport
import Testing

@testable import Store

/// Databases as somebody else would make them.
func foreignDatabaseLog(at path: String) throws -> [UInt8] {
  let database = try Database(path: path, options: .init(create: true))
  _ = try database.rows("PRAGMA journal_mode = WAL", to: "prepare")
  try database.run("CREATE TABLE other (a TEXT)", to: "prepare")
  for _ in 0..<50 {
    try database.run(
      "INSERT INTO other VALUES (?)", [.text(String(repeating: "x", count: 500))], to: "fill")
  }
  let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
  database.close()
  return [UInt8](log)
}

func raiseSchema(at path: String, to version: Int) throws {
  let database = try Database(path: path, options: .init())
  try database.run("UPDATE store SET minimum_reader = \(version)", to: "raise the schema")
  try database.run("PRAGMA user_version = \(version)", to: "raise the schema")
  _ = try database.truncateLog()
  database.close()
}

/// The mark alone, with the tables as they are.
func setVersion(_ fixture: StoreFixture, to version: Int) throws {
  let database = try Database(path: fixture.path("session.db"), options: .init())
  try database.run("PRAGMA user_version = \(version)", to: "change the version")
  _ = try database.truncateLog()
  database.close()
}

/// Writes something and takes it back, as another process might.
func touch(_ fixture: StoreFixture) throws {
  let database = try Database(path: fixture.path("session.db"), options: .init())
  for change in ["+ 1", "- 1"] {
    try database.run("UPDATE store SET minimum_reader = minimum_reader \(change)", to: "touch")
  }
  database.keepLogOnClose(true)
  database.close()
}

func drop(_ table: String, of name: String, _ fixture: StoreFixture) throws {
  let database = try Database(path: fixture.path(name), options: .init())
  try database.run("DROP TABLE \(table)", to: "drop a table")
  database.keepLogOnClose(true)
  database.close()
}

func addTable(_ fixture: StoreFixture) throws {
  let database = try Database(path: fixture.path("session.db"), options: .init())
  try database.run("CREATE TABLE extra (a TEXT)", to: "add a table")
  database.close()
}

@Suite(.timeLimit(.minutes(1)))
struct MigrationTests {
  private static let first = Schema(
    applicationID: 7,
    migrations: [
      Migration(
        version: 1, minimumReader: 1,
        statements: [
          "CREATE TABLE store (minimum_reader INTEGER NOT NULL)",
          "INSERT INTO store VALUES (1)",
          "CREATE TABLE note (text TEXT)",
          "INSERT INTO note VALUES ('kept')",
        ])
    ])

  private static func second(minimumReader: Int = 1, _ statements: [String]) -> Schema {
    Schema(
      applicationID: 7,
      migrations: first.migrations + [
        Migration(version: 2, minimumReader: minimumReader, statements: statements)
      ])
  }

  @Test func `an older file is migrated, and backed up before`() throws {
    let fixture = try StoreFixture()
    try open(fixture, Self.first).close()
    let database = try open(fixture, Self.second(["ALTER TABLE note ADD COLUMN more TEXT"]))
    #expect(try database.rows("SELECT text, more FROM note", to: "read").first?.text(0) == "kept")
    #expect(try database.pragma("user_version") == 2)
    database.close()
    #expect(try fixture.names().contains("some.db.backup-v1"))
    #expect(try mode(of: fixture.path("some.db.backup-v1")) == 0o600)
    let backup = try Database(path: fixture.path("some.db.backup-v1"), options: .init())
    #expect(try backup.pragma("user_version") == 1)
    #expect(try backup.integrity() == .whole)
  }

  @Test func `a check that takes too long is given up, and the file is used as it is`() throws {
    let fixture = try StoreFixture()
    let database = try open(fixture, Self.first)
    let text = SQLValue.text(String(repeating: "x", count: 2000))
    try database.run("BEGIN", to: "fill")
    for _ in 0..<2000 { try database.run("INSERT INTO note VALUES (?)", [text], to: "fill") }
    try database.run("COMMIT", to: "fill")
    #expect(try database.integrity(within: .zero) == .unfinished)
    #expect(try database.integrity() == .whole)
    database.close()
    var warnings: [String] = []
    let directory = try StateDirectory(at: fixture.directory, warnings: &warnings)
    var file = DatabaseFile(
      directory: directory, name: "some.db", schema: Self.first, options: .init(),
      now: fixture.configuration.clock())
    file.checkTime = .zero
    let opened = try file.open(warnings: &warnings)
    #expect(opened.setAside == nil)
    #expect(warnings == ["some.db: its check took too long and was given up"])
    #expect(try opened.database.rows("SELECT text FROM note", to: "read").count == 2001)
  }

  @Test func `a migration that fails leaves the file as it was`() throws {
    let fixture = try StoreFixture()
    try open(fixture, Self.first).close()
    let broken = Self.second([
      "ALTER TABLE note ADD COLUMN more TEXT", "INSERT INTO nothing VALUES (1)",
    ])
    let options = Database.Options()
    let database = try Database(path: fixture.path("some.db"), options: options)
    #expect(throws: SQLiteError.self) { try database.migrate(broken, from: 1) }
    #expect(try database.pragma("user_version") == 1)
    #expect(throws: SQLiteError.self) { _ = try database.rows("SELECT more FROM note", to: "read") }
  }

  @Test func `an older program uses a newer file whose oldest reader it is`() throws {
    let fixture = try StoreFixture()
    try open(fixture, Self.second(minimumReader: 1, ["CREATE TABLE added (a)"])).close()
    let database = try open(fixture, Self.first)
    #expect(try database.rows("SELECT text FROM note", to: "read").count == 1)
    #expect(try database.pragma("user_version") == 2)
  }

  @Test func `an older program refuses a newer file that asks for a newer reader`() throws {
    let fixture = try StoreFixture()
    try open(fixture, Self.second(minimumReader: 2, ["CREATE TABLE added (a)"])).close()
    let before = try fixture.contents("some.db")
    let error = #expect(throws: StoreOpenError.self) { _ = try open(fixture, Self.first) }
    #expect(error?.exitCode == 65)
    #expect(try fixture.contents("some.db") == before)
  }

  @Test func `B130: a much newer schema is refused with both versions, side files and all`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let database = try Database(path: fixture.path("session.db"), options: .init())
    try database.run("UPDATE store SET minimum_reader = 999", to: "raise the schema")
    try database.run("PRAGMA user_version = 999", to: "raise the schema")
    // Copied while it is open, so that the log is there and full.
    var copied = fixture
    copied.configuration.directory = fixture.scratch.path("copy")
    try FileManager.default.copyItem(
      atPath: fixture.directory, toPath: copied.configuration.directory)
    database.close()
    let names = try copied.names()
    #expect(names.contains("session.db-wal"))
    let before = try names.map { try copied.contents($0) }
    let error = try #require(#expect(throws: StoreOpenError.self) { _ = try copied.open() })
    #expect(error.exitCode == 65)
    #expect(
      error.message.contains("schema 999")
        && error.message.contains("version knows \(Schema.session.version)"))
    for (name, bytes) in zip(names, before) where !["brewlogd.lock"].contains(name) {
      if name.hasSuffix("-shm") { continue }
      #expect(try copied.contents(name) == bytes, "\(name)")
    }
  }

  private func open(_ fixture: StoreFixture, _ schema: Schema) throws -> Database {
    var warnings: [String] = []
    let directory = try StateDirectory(at: fixture.directory, warnings: &warnings)
    return try DatabaseFile(
      directory: directory, name: "some.db", schema: schema, options: .init(),
      now: fixture.configuration.clock()
    ).open(warnings: &warnings).database
  }
}

/// A connection with a read transaction open, or the write lock: another process, as far as locks
/// go.
final class HoldingReader {
  private let database: Database

  init(_ path: String, writing: Bool = false) throws {
    database = try Database(path: path, options: .init())
    try database.run(writing ? "BEGIN IMMEDIATE" : "BEGIN", to: "hold")
    _ = try database.rows("SELECT * FROM store", to: "hold")
  }

  func close() {
    database.keepLogOnClose(true)
    database.close()
  }
}

@Suite(.timeLimit(.minutes(1)))
struct FreePagesTests {
  @Test func `free pages are found unwiped without secure_delete, and wiped with it`() throws {
    for (secure, expected) in [("OFF", false), ("ON", true)] {
      let fixture = try StoreFixture()
      try FileManager.default.createDirectory(
        atPath: fixture.directory, withIntermediateDirectories: true)
      let database = try Database(path: fixture.path("a.db"), options: .init(create: true))
      _ = try database.rows("PRAGMA secure_delete = \(secure)", to: "prepare")
      try database.run("CREATE TABLE a (a TEXT)", to: "prepare")
      for _ in 0..<300 {
        try database.run(
          "INSERT INTO a VALUES (?)", [.text(String(repeating: "x", count: 900))], to: "fill")
      }
      try database.run("DELETE FROM a", to: "empty")
      #expect(try database.pragma("freelist_count") > 50)
      #expect(FreePages(bytes: try database.fileBytes()).unwiped.isEmpty == expected)
    }
  }
}

/// The files that a rekey writes, one by one.
struct RekeySteps {
  var oldKeyring: [UInt8]
  var newKey: [UInt8]
  var transitional: [UInt8]
  var newSessionKey: [UInt8]

  static func take(_ fixture: StoreFixture) throws -> RekeySteps {
    let oldKeyring = try fixture.contents("keyring")
    let material = try Secret(copying: try fixture.contents("master.key"))
    guard let old = try Keyring.open(oldKeyring, with: material) else {
      throw SealError.notAuthentic
    }
    let newKey = [UInt8](repeating: 0x42, count: 32)
    let new = try Keyring.successor(
      of: old, for: try Secret(copying: newKey), at: fixture.configuration.clock())
    let name = try fixture.sessionKeys()[0]
    let file = try #require(SealedKeyFile(bytes: try fixture.contents(name)))
    guard let key = file.open(with: old.volume) else { throw SealError.notAuthentic }
    let renewed = SealedKeyFile(
      .session, generation: file.generation, id: file.id, key: key, under: new.volume)
    return RekeySteps(
      oldKeyring: oldKeyring, newKey: newKey, transitional: new.encoded,
      newSessionKey: renewed.bytes)
  }
}
