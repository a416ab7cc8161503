import Platform
package import Session

extension SQLiteSessionStore {
  /// Looks at the structure, not for known tokens: no file may hold what a key that is still here
  /// opens, but the present session's record and what waits to be revoked; and nothing sealed of
  /// any other session may be left where it was deleted.
  package func verifyErasure() async throws(StoreError) -> [String] {
    try findTraces()
  }

  private func findTraces() throws(StoreError) -> [String] {
    let database = try sessionDatabase()
    try? finishLogout()
    try? clearLeftovers()
    try? emptyLogs()
    let names = try files { () throws(DirectoryError) in try parts.directory.names() }
    let (row, waiting) = try sql { () throws(SQLiteError) in
      (try database.sessionRow(), try database.revocations())
    }
    var allowed = Set(waiting.map(\.session))
    if let present { allowed.insert(present.session) }
    var findings: [String] = []
    if let row, row.session != present?.session {
      findings.append("session.db still has the row of session \(row.session.short)")
    }
    findings += databaseTraces(allowed)
    findings += names.compactMap { ownFileTrace($0) }
    findings += names.compactMap { copyTrace($0, allowed) }
    if waiting.isEmpty, unfinished?.revocation == nil, names.contains(FileName.outboxKey) {
      findings.append("\(FileName.outboxKey) is still there, though nothing waits to be revoked")
    }
    if parts.keyring.stored.previous != nil {
      findings.append("\(FileName.keyring) still has the store key from before a rekey")
    }
    return findings
  }

  /// The live databases: their logs, their free pages, and sealed pairs anywhere in them.
  private func databaseTraces(_ allowed: Set<SessionID>) -> [String] {
    var findings: [String] = []
    for (name, database) in [(FileName.session, parts.session), (FileName.tips, parts.tips)] {
      if parts.directory.size(of: name + "-wal") > 0 {
        findings.append("\(name)-wal could not be emptied: another process reads the database")
      }
      guard let bytes = try? database?.fileBytes() else {
        findings.append("\(name) could not be read")
        continue
      }
      let unwiped = FreePages(bytes: bytes).unwiped
      if !unwiped.isEmpty {
        findings.append("\(name) has \(unwiped.count) free pages that were not wiped")
      }
      for session in SealedTraces.sessions(in: bytes).subtracting(allowed) {
        findings.append("\(name) still has a sealed pair of session \(session.short)")
      }
    }
    return findings
  }

  /// A key or a slot of another session.
  private func ownFileTrace(_ name: String) -> String? {
    if let owner = FileName.owner(of: name) {
      // Emptied: what it says is that the logout is not finished, which Health says, too.
      if FileName.generation(ofGone: name, owner) != nil { return nil }
      return owner == present?.session ? nil : "\(name) belongs to an earlier session"
    }
    // What a crash left of a key that was being replaced.
    return name.hasSuffix(".key.new") ? "\(name) is left of a key's replacement" : nil
  }

  /// A file set aside or kept from before a migration, if a key here opens what it holds.
  private func copyTrace(_ name: String, _ openable: Set<SessionID>) -> String? {
    guard FileName.isSetAside(name) || FileName.isBackup(name) else { return nil }
    guard let bytes = try? parts.directory.read(name, limit: 1 << 28) else { return nil }
    return SealedTraces.sessions(in: bytes).isDisjoint(with: openable)
      ? nil : "\(name) has a sealed pair that a key here opens"
  }
}

extension SessionID {
  /// Enough to tell sessions apart in a sentence.
  var short: String { String(hex.prefix(8)) }
}
