import Execution
import FoundationEssentials
import Platform

/// Brings one database file up at start: found whole and of our schema, or brought to it, or made
/// anew, or, where it is damaged, set aside first under a dated name and then made anew. What may
/// not be touched (a newer schema, a link, another user's file) is thrown.
struct DatabaseFile {
  let directory: StateDirectory
  let name: String
  let schema: Schema
  let options: Database.Options
  let now: WallTime
  var checkTime = Database.checkTime
  /// Whether every page is looked at before the file counts as whole. What is opened without has to
  /// be checked later (``StoreParts/checkTips(warnings:)``).
  var checksIntegrity = true

  struct Opened {
    var database: Database
    /// The name that a damaged file has now.
    var setAside: String?
  }

  /// `beforeSettingAside` runs while the damaged file is still in its place; `initialise` fills a
  /// new one, which gets its name only when that is done.
  func open(
    warnings: inout [String],
    beforeSettingAside: () throws(StoreOpenError) -> Void = {},
    initialise: (Database, _ setAside: String?) throws(SQLiteError) -> Void = { _, _ in }
  ) throws(StoreOpenError) -> Opened {
    if let whole = try openWhole(warnings: &warnings) { return Opened(database: whole) }
    var setAside: String?
    if hasRemains {
      try beforeSettingAside()
      setAside = try self.setAside()
    } else {
      // A crash between setting it aside and making a new one: the reason is still the same.
      setAside = lastSetAside
    }
    do throws(SQLiteError) {
      try create { (database) throws(SQLiteError) in try initialise(database, setAside) }
      let database = try Database(path: directory.path(of: name), options: options)
      try database.prepareForWriting()
      return Opened(database: database, setAside: setAside)
    } catch {
      throw StoreOpenError(error)
    }
  }

  static func unfinished(_ name: String) -> String {
    "\(name): its check took too long and was given up"
  }

  private var lastSetAside: String? {
    let names = (try? directory.names()) ?? []
    return names.last { name in
      name.hasPrefix(self.name + ".damaged-")
        && !FileName.companions(of: "").contains(where: name.hasSuffix)
    }
  }

  private var hasRemains: Bool {
    ([name] + FileName.companions(of: name)).contains(where: directory.exists)
  }

  /// Nil: missing or damaged.
  private func openWhole(warnings: inout [String]) throws(StoreOpenError) -> Database? {
    do throws(DirectoryError) {
      guard case .file(let size) = try directory.check(name, warnings: &warnings), size > 0 else {
        return nil
      }
      for companion in FileName.companions(of: name) {
        if case .foreign = try directory.check(companion, warnings: &warnings) { return nil }
      }
    } catch {
      throw StoreOpenError(error)
    }
    var newer: Int?
    let hasLog = directory.size(of: name + "-wal") > 0
    do throws(SQLiteError) {
      let database = try Database(path: directory.path(of: name), options: options)
      // Until it is known to be ours to change, not even its log is folded in.
      database.keepLogOnClose(hasLog)
      let version = try database.schemaVersion(schema)
      if version > schema.version, try database.minimumReader() > schema.version {
        newer = version
      }
      guard newer == nil else { throw database.error("use a newer schema", SQLiteError.Codes.ok) }
      guard version > 0 else { return nil }
      if checksIntegrity {
        switch try database.integrity(within: checkTime) {
        case .whole: break
        case .damaged: return nil
        case .unfinished: warnings.append(Self.unfinished(name))
        }
      }
      database.keepLogOnClose(false)
      try database.prepareForWriting()
      if version < schema.version { try migrate(database, from: version) }
      return database
    } catch {
      if let newer {
        throw .newerSchema(path: directory.path(of: name), found: newer, known: schema.version)
      }
      if error.meansDamage { return nil }
      throw StoreOpenError(error)
    }
  }

  /// The backup is whole and durable before the migration begins, and private from its first byte.
  private func migrate(_ database: Database, from version: Int) throws(SQLiteError) {
    let backup = "\(name).backup-v\(version)"
    try files("back it up") { () throws(DirectoryError) in
      try directory.remove(backup)
      try directory.create(backup, [])
    }
    try database.copy(to: directory.path(of: backup))
    try files("back it up") { () throws(DirectoryError) in try directory.sync(backup) }
    try database.migrate(schema, from: version)
  }

  /// Works on files where SQLite's error is expected.
  private func files(
    _ operation: String, _ body: () throws(DirectoryError) -> Void
  ) throws(SQLiteError) {
    do throws(DirectoryError) {
      try body()
    } catch {
      throw SQLiteError(
        file: name, operation: "\(operation) (\(error.description))",
        code: SQLiteError.Codes.cannotOpen, systemCode: error.systemCode)
    }
  }

  /// Moves the file and its companions out of the way, the log first: an old log beside a new
  /// database would be played into it. Returns the database's new name.
  func setAside() throws(StoreOpenError) -> String {
    do throws(DirectoryError) {
      let stamp = Self.stamp(now)
      var suffix = ".damaged-\(stamp)"
      var count = 1
      while directory.exists(name + suffix) {
        count += 1
        suffix = ".damaged-\(stamp)-\(count)"
      }
      for companion in FileName.companions(of: name) where directory.exists(companion) {
        let tail = companion.dropFirst(name.count)
        try directory.rename(companion, to: name + suffix + tail)
      }
      if directory.exists(name) { try directory.rename(name, to: name + suffix) }
      return name + suffix
    } catch {
      throw StoreOpenError(error)
    }
  }

  /// Makes the database under another name, whole and synced, and renames it: no start ever finds a
  /// half-made one.
  private func create(
    _ initialise: (Database) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    let temporary = name + ".new"
    try files("make it") { () throws(DirectoryError) in
      for left in [temporary] + FileName.companions(of: temporary) { try directory.remove(left) }
      // Made here, so that its mode is ours whatever the umask; SQLite takes it over for the log.
      try directory.create(temporary, [])
    }
    let database = try Database(path: directory.path(of: temporary), options: options)
    try database.prepareForWriting()
    try database.migrate(schema, from: 0)
    try initialise(database)
    _ = try database.truncateLog()
    database.close()
    try files("make it") { () throws(DirectoryError) in
      try directory.rename(temporary, to: name)
    }
  }

  /// 20250102T030405Z
  static func stamp(_ time: WallTime) -> String {
    Date(timeIntervalSince1970: Double(time.milliseconds / 1000))
      .formatted(Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
  }
}
