import Secrets
import Session

/// The files of a state directory. What is not named here is not the store's.
enum FileName {
  static let lock = "brewlogd.lock"
  static let session = "session.db"
  static let tips = "tips.db"
  static let keyring = "keyring"
  static let masterKey = "master.key"
  static let outboxKey = "outbox.key"
  static let credential = "brewlog.key"
  static let tombstone = "logout.tombstone"

  /// A session's own files carry its id, so that an old and a new one can stand side by side while
  /// one takes the other's place.
  static func sessionKey(_ session: SessionID) -> String { "session-\(session.hex).key" }
  static func rescueSlot(_ session: SessionID) -> String { "session-\(session.hex).rescue" }

  /// What is left of a session's key between its end and that of its rows.
  static func goneKey(_ session: SessionID, _ generation: Generation) -> String {
    "session-\(session.hex).gone-\(generation.number)"
  }

  static func generation(ofGone name: String, _ session: SessionID) -> Generation? {
    let prefix = "session-\(session.hex).gone-"
    guard name.hasPrefix(prefix) else { return nil }
    return UInt64(name.dropFirst(prefix.count)).map { Generation($0) }
  }

  /// Whose file this is; nil where it is no session's own.
  static func owner(of name: String) -> SessionID? {
    guard name.hasPrefix("session-") else { return nil }
    let digits = name.dropFirst(8).prefix { $0 != "." }
    return [UInt8](hex: digits).flatMap(SessionID.init(bytes:))
  }

  /// What SQLite keeps beside a database.
  static func companions(of database: String) -> [String] {
    ["-wal", "-shm", "-journal"].map { database + $0 }
  }

  /// A file that was to take another one's place.
  static func isLeftover(_ name: String) -> Bool {
    let making = [session, tips, keyring, outboxKey].map { $0 + ".new" }
    return making.contains { name == $0 || name.hasPrefix($0 + "-") }
      || (owner(of: name) != nil && name.hasSuffix(".new"))
  }

  static func isSetAside(_ name: String) -> Bool { name.contains(".damaged-") }
  static func isBackup(_ name: String) -> Bool { name.contains(".backup-") }
}
