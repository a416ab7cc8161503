import CSQLite

/// One step from a schema to the next. Never edited once released: a store out there has run it.
struct Migration {
  /// The schema it leads to, SQLite's `user_version`.
  var version: Int
  /// The oldest program that can still read what it makes.
  var minimumReader: Int
  var statements: [String]
}

/// A database's schema: which file is ours, and how an older one becomes the present one.
struct Schema {
  /// SQLite's `application_id`: another program's database in our place is damage, not data.
  var applicationID: Int64
  var migrations: [Migration]

  var version: Int { migrations.last?.version ?? 0 }

  /// "brwS", "brwT".
  static let session = Schema(applicationID: 0x6272_7753, migrations: [sessionV1, sessionV2])
  static let tips = Schema(applicationID: 0x6272_7754, migrations: [tipsV1])

  private static let sessionV1 = Migration(
    version: 1, minimumReader: 1,
    statements: [
      """
      CREATE TABLE store (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        minimum_reader INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        signed_out_reason TEXT,
        last_sequence INTEGER NOT NULL DEFAULT 0
      ) STRICT
      """,
      "INSERT INTO store (id, minimum_reader, generation) VALUES (1, 1, 0)",
      """
      CREATE TABLE session (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        session_id BLOB NOT NULL,
        generation INTEGER NOT NULL,
        serial INTEGER NOT NULL,
        facts BLOB NOT NULL,
        pair BLOB NOT NULL,
        machine BLOB
      ) STRICT
      """,
      """
      CREATE TABLE intent (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        token TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        tries INTEGER NOT NULL
      ) STRICT
      """,
      """
      CREATE TABLE backoff (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        failures INTEGER NOT NULL,
        not_before INTEGER NOT NULL,
        reason TEXT NOT NULL
      ) STRICT
      """,
      "CREATE TABLE spent (token TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
      """
      CREATE TABLE revocation (
        id INTEGER PRIMARY KEY,
        facts BLOB NOT NULL,
        pair BLOB NOT NULL,
        added_at INTEGER NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0
      ) STRICT
      """,
      """
      CREATE TABLE event (
        sequence INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        generation INTEGER NOT NULL,
        detail TEXT,
        actor_uid INTEGER,
        http_status INTEGER
      ) STRICT
      """,
    ])

  /// How earlier sessions ended, which forecasts go by, and how long a pause was meant to be.
  private static let sessionV2 = Migration(
    version: 2, minimumReader: 1,
    statements: [
      """
      CREATE TABLE life (
        id INTEGER PRIMARY KEY,
        issuer TEXT NOT NULL,
        client_id TEXT NOT NULL,
        api_origin TEXT NOT NULL,
        account TEXT,
        signed_in_at INTEGER NOT NULL,
        last_good_at INTEGER NOT NULL,
        refused_at INTEGER NOT NULL
      ) STRICT
      """,
      "ALTER TABLE backoff ADD COLUMN pause INTEGER",
    ])

  private static let tipsV1 = Migration(
    version: 1, minimumReader: 1,
    statements: [
      """
      CREATE TABLE store (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        minimum_reader INTEGER NOT NULL,
        highest_generation INTEGER NOT NULL,
        fence_generation INTEGER NOT NULL,
        fence_session BLOB
      ) STRICT
      """,
      "INSERT INTO store VALUES (1, 1, 0, 0, NULL)",
      """
      CREATE TABLE tip (
        key TEXT PRIMARY KEY,
        session_id BLOB NOT NULL,
        generation INTEGER NOT NULL,
        fetched_at INTEGER NOT NULL,
        fresh_for INTEGER NOT NULL,
        entity_tag TEXT,
        last_modified TEXT,
        body BLOB NOT NULL
      ) STRICT
      """,
      "CREATE INDEX tip_by_age ON tip (fetched_at)",
    ])
}

extension Database {
  func pragma(_ name: String) throws(SQLiteError) -> Int64 {
    try rows("PRAGMA \(name)", to: "read \(name)").first?.integer(0) ?? 0
  }

  /// Whether this is a database of the schema's kind, and of which version. Reads only.
  func schemaVersion(_ schema: Schema) throws(SQLiteError) -> Int {
    guard try pragma("application_id") == schema.applicationID else {
      throw error("recognise the file as brewlog's", SQLITE_NOTADB)
    }
    return Int(try pragma("user_version"))
  }

  /// The oldest program version that may use the file. The table and the column are a promise to
  /// all later schemas.
  func minimumReader() throws(SQLiteError) -> Int {
    let row = try rows("SELECT minimum_reader FROM store", to: "read minimum_reader").first
    return Int(try row?.integer(0) ?? .max)
  }

  /// Runs what is missing, all of it in one transaction.
  func migrate(_ schema: Schema, from version: Int) throws(SQLiteError) {
    try transaction(mapping: { $0 }) { () throws(SQLiteError) in
      for migration in schema.migrations where migration.version > version {
        for statement in migration.statements {
          try run(statement, to: "migrate to schema \(migration.version)")
        }
        try run(
          "UPDATE store SET minimum_reader = ?", [.integer(Int64(migration.minimumReader))],
          to: "migrate to schema \(migration.version)")
        try run(
          "PRAGMA user_version = \(migration.version)",
          to: "migrate to schema \(migration.version)")
      }
      try run("PRAGMA application_id = \(schema.applicationID)", to: "mark the file")
    }
  }
}
