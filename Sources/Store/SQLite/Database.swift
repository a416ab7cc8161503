import CSQLite

/// One SQLite connection, used on one thread at a time. It sets every option that the store's
/// promises rest on; nothing else in the package calls SQLite (but ``Statement``).
final class Database {
  struct Options {
    /// FULL: a commit is synced before it returns; needed wherever a lost commit loses a token.
    var synchronous: Synchronous = .full
    var readOnly = false
    var create = false
    /// Another VFS by its name; tests inject faults through it.
    var vfs: String?
    /// How long another process may hold the lock before `busy` is the answer.
    var busyTimeout: Duration = .seconds(5)
  }

  enum Synchronous: String {
    case full = "FULL"
    case normal = "NORMAL"
  }

  let path: String
  /// The file's name, for errors.
  let name: String
  private let options: Options
  private let patience: BusyPatience
  private var handle: OpaquePointer?
  /// The level in force; nil while that is not certain.
  private var synchronous: Synchronous?

  /// Opens, without reading anything yet.
  init(path: String, options: Options) throws(SQLiteError) {
    self.path = path
    name = path.split(separator: "/").last.map(String.init) ?? path
    self.options = options
    patience = BusyPatience(timeout: options.busyTimeout)
    var flags = options.readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    if options.create { flags |= SQLITE_OPEN_CREATE }
    // No mutex: one thread. No link is followed. Extended result codes from the start.
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
    var connection: OpaquePointer?
    let code = sqlite3_open_v2(path, &connection, flags, options.vfs)
    guard code == SQLITE_OK, let connection else {
      let failure = SQLiteError(
        file: name, operation: "open the database", code: code,
        systemCode: connection.map { sqlite3_system_errno($0) } ?? 0)
      sqlite3_close_v2(connection)
      throw failure
    }
    handle = connection
    patience.attach(to: connection)
    // A file from elsewhere gets no chance to run what it brings.
    _ = brewlog_sqlite_configure(connection, SQLITE_DBCONFIG_DEFENSIVE, 1)
    _ = brewlog_sqlite_configure(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
  }

  deinit {
    close()
  }

  func close() {
    sqlite3_close_v2(handle)
    handle = nil
  }

  /// Leaves database and log as they are when the connection closes: a store that is refused stays
  /// untouched.
  func keepLogOnClose(_ keep: Bool) {
    if let handle {
      _ = brewlog_sqlite_configure(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0)
    }
  }

  /// Sets what holds for all later writes. Reads the file's header.
  func prepareForWriting() throws(SQLiteError) {
    // Freed content is overwritten, in the tables' pages and in freed ones.
    _ = try rows("PRAGMA secure_delete = ON", to: "set secure_delete")
    let mode = try rows("PRAGMA journal_mode = WAL", to: "set the journal mode").first
    guard case .text("wal") = mode?.values.first else {
      throw error("set the journal mode", SQLITE_CANTOPEN)
    }
    try setSynchronous(options.synchronous)
    _ = try rows("PRAGMA temp_store = MEMORY", to: "set temp_store")
    _ = try rows("PRAGMA cell_size_check = ON", to: "set cell_size_check")
  }

  func setSynchronous(_ level: Synchronous) throws(SQLiteError) {
    if level == synchronous { return }
    synchronous = nil
    _ = try rows("PRAGMA synchronous = \(level.rawValue)", to: "set synchronous")
    synchronous = level
  }

  /// Sees to it that the next write is as durable as this file's writes are to be.
  func requireDurability() throws(SQLiteError) { try setSynchronous(options.synchronous) }

  /// Runs one statement and reads all of its rows.
  func rows(
    _ sql: String, _ values: [SQLValue] = [], to operation: String
  ) throws(SQLiteError) -> [Row] {
    var statement = try Statement(sql, on: self, to: operation)
    try statement.bind(values)
    var rows: [Row] = []
    while let row = try statement.step() { rows.append(row) }
    return rows
  }

  /// Runs one statement for its effect; says how many rows it changed.
  @discardableResult
  func run(
    _ sql: String, _ values: [SQLValue] = [], to operation: String
  ) throws(SQLiteError) -> Int {
    _ = try rows(sql, values, to: operation)
    return handle.map { Int(sqlite3_changes64($0)) } ?? 0
  }

  /// Whether a transaction is open.
  var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

  /// Copies the log into the database and cuts it to no length, so that nothing of what was
  /// deleted stands in it. False: a reader in another process still needs it; `waiting` for it, as
  /// for any lock.
  func truncateLog(waiting: Bool = true) throws(SQLiteError) -> Bool {
    patience.isGiven = waiting
    defer { patience.isGiven = true }
    let row = try rows("PRAGMA wal_checkpoint(TRUNCATE)", to: "empty the log").first
    return try row?.integer(0) == 0
  }

  func open() throws(SQLiteError) -> OpaquePointer {
    guard let handle else { throw error("use the database", SQLITE_MISUSE) }
    return handle
  }

  func error(_ operation: String, _ code: Int32) -> SQLiteError {
    SQLiteError(
      file: name, operation: operation, code: code,
      systemCode: handle.map { brewlog_sqlite_system_error($0) } ?? 0)
  }

  /// A whole copy in an empty file. SQLite leaves its sync to the caller.
  func copy(to path: String) throws(SQLiteError) {
    try run("VACUUM INTO ?", [.text(path)], to: "back the file up")
  }

  /// What the file holds cannot have been written by us.
  func damaged(_ operation: String) -> SQLiteError {
    SQLiteError(file: name, operation: operation, code: SQLITE_CORRUPT, systemCode: 0)
  }
}
