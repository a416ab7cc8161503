import Platform
import Session

/// Why the store cannot be opened at start. Every case leaves the files as they were, and tells the
/// person what to do; the daemon ends with ``exitCode``, and systemd does not restart it.
package enum StoreOpenError: Error, Equatable, Sendable {
  /// A later version has written the file.
  case newerSchema(path: String, found: Int, known: Int)
  /// There is a store, but no key for it. Never answered by making a new key: that would turn a
  /// mistake in a unit file into a lost session.
  case keyMissing(String)
  /// There is a key, but it does not open this store.
  case keyWrong(String)
  /// The directory or a file in it cannot be used: missing rights, another owner, a link, a disk
  /// that fails.
  case unusable(String)
  /// Another daemon holds the directory.
  case heldByAnother(path: String, pid: Int32?)

  /// The contract's exit code.
  package var exitCode: Int32 {
    switch self {
    case .newerSchema: 65
    case .keyMissing, .keyWrong: 66
    case .unusable: 73
    case .heldByAnother: 75
    }
  }

  /// One line: what happened, and what to do.
  package var message: String {
    switch self {
    case .newerSchema(let path, let found, let known):
      "\(path) is of schema \(found), and this version knows \(known): install the version that "
        + "wrote it, or move the file away and sign in again"
    case .keyMissing(let text), .keyWrong(let text), .unusable(let text): text
    case .heldByAnother(let path, let pid):
      (pid.map { "process \($0)" } ?? "another process")
        + " holds the state directory \(path): stop it, or give this one another Directory="
    }
  }

  init(_ error: DirectoryError) {
    self = .unusable(error.description + Self.remedy(error.systemCode))
  }

  /// What the system refused says for itself what happened; this is what to do.
  private static func remedy(_ code: Int32) -> String {
    switch code {
    case SQLiteError.Codes.noSpace, SQLiteError.Codes.overQuota: "; free some space"
    case SQLiteError.Codes.readOnlyFileSystem:
      "; mount it for writing, or give another Directory="
    default: ""
    }
  }

  init(_ error: SQLiteError) {
    self = .unusable(error.description)
  }
}

extension DirectoryError {
  /// The same failure once the store is open.
  var storeError: StoreError {
    switch systemCode {
    case SQLiteError.Codes.noSpace, SQLiteError.Codes.overQuota: .full
    case SQLiteError.Codes.readOnlyFileSystem: .readOnly
    default: .failed(description)
    }
  }
}
