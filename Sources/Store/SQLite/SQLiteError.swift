import CSQLite
import Session

/// A result code of SQLite with what was being done. Bound values are never in it (I10).
struct SQLiteError: Error, Equatable, CustomStringConvertible {
  /// The file's name, without its directory.
  let file: String
  /// What was attempted, in our words.
  let operation: String
  /// The extended result code.
  let code: Int32
  /// The kernel's error behind it, 0 where there is none.
  let systemCode: Int32

  /// The primary result code.
  var primary: Int32 { code & 0xff }

  var description: String {
    "\(file): cannot \(operation): \(String(cString: sqlite3_errstr(code))) (SQLite code \(code))"
  }

  /// Whether the file's content is at fault, not the disk, the space or another process.
  var meansDamage: Bool {
    switch primary {
    // ERROR and the constraint, type and range codes come from a schema that is not ours: every
    // statement here is fixed and tested against it.
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_CONSTRAINT,
      SQLITE_MISMATCH, SQLITE_FORMAT:
      true
    // A short read means that the file is shorter than its header says.
    default: code == Codes.shortRead
    }
  }

  var storeError: StoreError {
    switch primary {
    case SQLITE_FULL: .full
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_READONLY: .readOnly
    case SQLITE_IOERR, SQLITE_CANTOPEN:
      switch systemCode {
      case Codes.noSpace, Codes.overQuota: .full
      case Codes.readOnlyFileSystem: .readOnly
      default: .failed(description)
      }
    default: .failed(description)
    }
  }

  enum Codes {
    // SQLITE_IOERR_SHORT_READ and its kin are expressions that Swift's importer leaves out.
    static let shortRead: Int32 = SQLITE_IOERR | (2 << 8)
    static let ok: Int32 = SQLITE_OK
    static let cannotOpen: Int32 = SQLITE_CANTOPEN
    static let noSpace: Int32 = 28
    static let overQuota: Int32 = 122
    static let readOnlyFileSystem: Int32 = 30
  }
}
