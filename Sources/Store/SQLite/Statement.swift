import CSQLite

/// One value of a row or of a parameter.
enum SQLValue: Equatable {
  case null
  case integer(Int64)
  case text(String)
  case blob([UInt8])

  static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
  static func optional(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
}

/// One row, read out whole; columns by their place in the statement.
struct Row {
  let file: String
  let values: [SQLValue]

  func integer(_ column: Int) throws(SQLiteError) -> Int64 {
    if case .integer(let number) = values[column] { return number }
    throw wrongType(column)
  }

  func text(_ column: Int) throws(SQLiteError) -> String {
    if case .text(let text) = values[column] { return text }
    throw wrongType(column)
  }

  func blob(_ column: Int) throws(SQLiteError) -> [UInt8] {
    if case .blob(let bytes) = values[column] { return bytes }
    throw wrongType(column)
  }

  func optionalText(_ column: Int) throws(SQLiteError) -> String? {
    if case .null = values[column] { return nil }
    return try text(column)
  }

  func optionalInteger(_ column: Int) throws(SQLiteError) -> Int64? {
    if case .null = values[column] { return nil }
    return try integer(column)
  }

  func optionalBlob(_ column: Int) throws(SQLiteError) -> [UInt8]? {
    if case .null = values[column] { return nil }
    return try blob(column)
  }

  /// Tables are STRICT, so a value of another type is damage.
  private func wrongType(_ column: Int) -> SQLiteError {
    SQLiteError(
      file: file, operation: "read column \(column)", code: SQLITE_MISMATCH, systemCode: 0)
  }
}

/// One prepared statement, finalised exactly once. Values are bound, never spliced into the text.
struct Statement: ~Copyable {
  private let handle: OpaquePointer
  private let file: String
  private let operation: String

  /// `operation` says in an error what the statement was for.
  init(_ sql: String, on database: Database, to operation: String) throws(SQLiteError) {
    let connection = try database.open()
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
    guard code == SQLITE_OK, let statement else { throw database.error(operation, code) }
    handle = statement
    file = database.name
    self.operation = operation
  }

  deinit {
    sqlite3_finalize(handle)
  }

  mutating func bind(_ values: [SQLValue]) throws(SQLiteError) {
    for (index, value) in values.enumerated() {
      let place = Int32(index + 1)
      let code: Int32 =
        switch value {
        case .null: sqlite3_bind_null(handle, place)
        case .integer(let number): sqlite3_bind_int64(handle, place, number)
        case .text(let text):
          brewlog_sqlite_bind_text(handle, place, text, Int32(clamping: text.utf8.count))
        case .blob(let bytes):
          bytes.isEmpty
            ? sqlite3_bind_zeroblob(handle, place, 0)
            : brewlog_sqlite_bind_blob(handle, place, bytes, Int32(clamping: bytes.count))
        }
      if code != SQLITE_OK { throw failure(code) }
    }
  }

  /// The next row, nil after the last.
  mutating func step() throws(SQLiteError) -> Row? {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return row()
    case SQLITE_DONE: return nil
    case let code: throw failure(code)
    }
  }

  private func row() -> Row {
    let values = (0..<sqlite3_column_count(handle)).map { column -> SQLValue in
      switch sqlite3_column_type(handle, column) {
      case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
      case SQLITE_TEXT:
        guard let text = sqlite3_column_text(handle, column) else { return .null }
        let count = Int(sqlite3_column_bytes(handle, column))
        return .text(
          String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
      case SQLITE_BLOB:
        let count = Int(sqlite3_column_bytes(handle, column))
        guard let bytes = sqlite3_column_blob(handle, column) else { return .blob([]) }
        return .blob(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
      default: return .null
      }
    }
    return Row(file: file, values: values)
  }

  private func failure(_ code: Int32) -> SQLiteError {
    let connection = sqlite3_db_handle(handle)
    return SQLiteError(
      file: file, operation: operation,
      code: connection.map { sqlite3_extended_errcode($0) } ?? code,
      systemCode: connection.map { brewlog_sqlite_system_error($0) } ?? 0)
  }
}
