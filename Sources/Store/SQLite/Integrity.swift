import CSQLite
import Execution
import Platform

/// What SQLite's own check says of a file.
enum Integrity: Equatable, CustomStringConvertible {
  case whole
  /// What is wrong with it, in SQLite's words.
  case damaged(String)
  /// The check was given up: a file that has grown beyond reason must not hold up a start.
  case unfinished

  var description: String {
    switch self {
    case .whole: "ok"
    case .damaged(let what): what
    case .unfinished: "not known: the check took too long and was given up"
    }
  }
}

extension Database {
  /// A store's files are small, and a check of them takes milliseconds.
  static let checkTime = Duration.seconds(5)

  func integrity(within span: Duration = Database.checkTime) throws(SQLiteError) -> Integrity {
    let connection = try open()
    let limit = Limit(at: SystemClock.now.advanced(by: span))
    // The bare pointer is gone before the object is.
    defer {
      sqlite3_progress_handler(connection, 0, nil, nil)
      withExtendedLifetime(limit) {}
    }
    sqlite3_progress_handler(
      connection, 1000,
      { context in
        guard let context else { return 0 }
        let limit = Unmanaged<Limit>.fromOpaque(context).takeUnretainedValue()
        return SystemClock.now >= limit.instant ? 1 : 0
      }, Unmanaged.passUnretained(limit).toOpaque())
    do throws(SQLiteError) {
      let first = try rows("PRAGMA integrity_check(1)", to: "check the file").first
      let text = try first?.text(0) ?? "no answer"
      return text == "ok" ? .whole : .damaged(text)
    } catch {
      guard error.primary == SQLITE_INTERRUPT else { throw error }
      return .unfinished
    }
  }

  private final class Limit {
    let instant: Instant

    init(at instant: Instant) {
      self.instant = instant
    }
  }
}
