import Platform
import Secrets
package import Session

extension SQLiteSessionStore {
  package func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) throws(StoreError) {
    _ = try replaceSession(with: record, permit, revoking: nil)
  }

  // `async`, as the protocol's default is, which a synchronous method would lose against.
  package func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit,
    revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool {
    try replaceSession(with: record, permit, revoking: old)
  }

  /// In this order: the new session's key, the tips' fence, one transaction, then the end of what
  /// the old session left. Until the transaction is committed the old session is whole; from then on
  /// the new one is.
  private func replaceSession(
    with record: consuming SessionRecord, _ permit: consuming WritePermit,
    revoking old: consuming SessionRecord?
  ) throws(StoreError) -> Bool {
    let facts = record.facts
    let database = try sessionDatabase()
    try? finishLogout()
    let before = try sql { () throws(SQLiteError) in
      (state: try database.storeState(), fence: try? parts.tips?.fence())
    }
    guard facts.generation > before.state.generation, permit.generation == facts.generation,
      permit.session == facts.id
    else { throw .generationMoved(stored: before.state.generation) }
    guard let key = try? SealingKey.random(), let sealed = SealedRecord.seal(record, with: key)
    else { throw .failed("no locked memory for the session's key: raise LimitMEMLOCK=") }
    let revocation = sealForOutbox(old)
    var isCommitting = false
    do throws(StoreError) {
      try files { () throws(DirectoryError) in
        try keys.write(key, for: facts.id, facts.generation, under: parts.keyring.volume)
        try RescueSlot(directory: parts.directory, session: facts.id).prepare(for: sealed)
      }
      try reach(.keyFileWritten)
      try? moveFence(to: facts.generation, facts.id)
      isCommitting = true
      try commitInstall(
        SessionRow(
          session: facts.id, generation: facts.generation, serial: 0, record: sealed,
          machine: MachineIdentity.read(parts.configuration.machineIDPath)), revocation)
    } catch {
      note(error)
      abandonInstall(of: facts.id, before: before.fence, isCertain: !isCommitting)
      throw error
    }
    knownGeneration = facts.generation
    present = PresentSession(
      facts, key: key, refreshToken: refreshFingerprint(record), serial: 0)
    failure = nil
    let isQueued = revocation != nil || unfinished?.revocation != nil
    unfinished = nil
    clearing { () throws(StoreError) in try eraseAllBut(facts.id) }
    return isQueued
  }

  private func commitInstall(_ row: SessionRow, _ revocation: SealedRecord?) throws(StoreError) {
    let database = try sessionDatabase()
    try database.transaction(mapping: \.storeError) { () throws(StoreError) in
      let state = try sql { () throws(SQLiteError) in try database.storeState() }
      guard row.generation > state.generation else {
        throw .generationMoved(stored: state.generation)
      }
      try reach(.sessionToBeWritten)
      try sql { () throws(SQLiteError) in
        try database.putSession(row)
        try database.clearAttempts()
        try database.setStoreState(StoreState(generation: row.generation))
        if let present { try database.addSpent(present.spent, at: parts.now) }
        // A logout's whose rows have stood until now goes on waiting, too.
        for entry in [unfinished?.revocation, revocation] {
          if let entry { try database.addRevocation(entry, at: parts.now) }
        }
      }
    }
    try reach(.sessionWritten)
  }

  /// The old session goes on. A commit that failed in its sync may still stand in the log and come
  /// true at a restart; emptying the log undoes it. Only when that is certain (there was no commit, or
  /// the log is empty) may the new key go: without it such a restart would find a session that cannot
  /// be opened, and lose the old one too.
  private func abandonInstall(of session: SessionID, before fence: TipFence?, isCertain: Bool) {
    if let fence { try? moveFence(to: fence.generation, fence.session) }
    guard isCertain else {
      hasLeftovers = true
      try? clearLeftovers()
      return
    }
    clearing { () throws(StoreError) in
      try files { () throws(DirectoryError) in
        try parts.directory.destroy(FileName.sessionKey(session))
        try parts.directory.destroy(FileName.rescueSlot(session))
      }
      try retireOutboxKey()
    }
  }

  /// Destroys what other sessions left, and empties both logs, which may hold their records.
  func eraseAllBut(_ session: SessionID?) throws(StoreError) {
    try reach(.keysToBeDestroyed)
    try files { () throws(DirectoryError) in
      try keys.destroyAll(but: session)
      try destroyBackups()
    }
    try reach(.keysDestroyed)
    try emptyLogs()
  }

  func emptyLogs(waiting: Bool = true) throws(StoreError) {
    let database = try sessionDatabase()
    let emptied = try sql { () throws(SQLiteError) in try database.truncateLog(waiting: waiting) }
    let tipsEmptied = (try? parts.tips?.truncateLog(waiting: waiting)) ?? true
    guard emptied, tipsEmptied else { throw .busy }
    try reach(.logsEmptied)
  }
}
