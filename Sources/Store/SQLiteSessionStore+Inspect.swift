import Secrets
package import Session

extension SQLiteSessionStore {
  /// Through a connection of its own, and the key read from its file again: what a restart would
  /// restore, not what this process believes.
  package func inspect() throws(StoreError) -> PersistedSession {
    let path = try sessionDatabase().path
    var options = Database.Options()
    options.readOnly = true
    options.vfs = parts.configuration.vfs
    options.busyTimeout = parts.configuration.busyTimeout
    let (database, version, checked) = try sql { () throws(SQLiteError) in
      let database = try Database(path: path, options: options)
      return (database, try database.pragma("user_version"), try database.integrity())
    }
    let found = try Restorable.read(database, keys, under: parts.keyring.volume)
    var integrity = checked.description
    if case .damaged(let what) = found.verdict { integrity = what }
    return PersistedSession(
      generation: found.state.generation, facts: facts(found), accessToken: accessToken(found),
      refreshToken: refreshToken(found), intent: found.intent, backoff: found.backoff,
      signedOutReason: signedOutReason(found), path: path, schemaVersion: Int(version),
      sizeBytes: parts.directory.size(of: FileName.session),
      walSizeBytes: parts.directory.size(of: FileName.session + "-wal"),
      cachedTips: (try? parts.tips?.tipCount()) ?? 0,
      encryption: "XChaCha20-Poly1305, \(parts.keySource.description)", integrity: integrity)
  }

  private func facts(_ found: borrowing Restorable) -> SessionFacts? {
    switch found.record {
    case .some(let record): record.facts
    case .none: nil
    }
  }

  private func accessToken(_ found: borrowing Restorable) -> Fingerprint? {
    switch found.record {
    case .some(let record):
      switch record.pair.access {
      case .some(let token): fingerprint(of: token)
      case .none: nil
      }
    case .none: nil
    }
  }

  private func refreshToken(_ found: borrowing Restorable) -> Fingerprint? {
    switch found.record {
    case .some(let record): refreshFingerprint(record)
    case .none: nil
    }
  }

  private func signedOutReason(_ found: borrowing Restorable) -> String? {
    switch found.verdict {
    case .session: nil
    case .signedOut: found.state.signedOutReason
    case .keyGone(let reason): reason
    case .damaged(let what): "the store is damaged: \(what)"
    }
  }
}
