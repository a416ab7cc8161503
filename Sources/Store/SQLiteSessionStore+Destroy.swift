import Platform
package import Session

/// A logout that holds, since its key is gone, but has still to delete what the key had sealed.
struct UnfinishedLogout {
  var generation: Generation
  var reason: String
  var revocation: SealedRecord?
  var failure: StoreError
}

extension SQLiteSessionStore {
  package func destroy(through generation: Generation, reason: String) throws(StoreError) {
    _ = try endSession(through: generation, reason, revoking: nil)
  }

  // `async`, as the protocol's default is, which a synchronous method would lose against.
  package func destroy(
    through generation: Generation, reason: String, revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool {
    try endSession(through: generation, reason, revoking: old)
  }

  /// A logout's steps (b) and (c). It fails only where (b) does: then a tombstone is left, too.
  /// What (c) could not do is done by a later call or by the restart; `settle` tells of it.
  private func endSession(
    through generation: Generation, _ reason: String, revoking old: consuming SessionRecord?
  ) throws(StoreError) -> Bool {
    let database = try sessionDatabase()
    // A database that cannot be read keeps no logout: the key's file says whose it is.
    if (try? isPast(generation, database)) == true { return false }
    let revocation = sealForOutbox(old)
    let session = present?.session
    do throws(StoreError) {
      try destroyKeys(below: generation)
    } catch {
      if let session { try? leaveTombstone(of: session, through: generation) }
      clearing { () throws(StoreError) in try retireOutboxKey() }
      throw error
    }
    do throws(StoreError) {
      let isQueued = try finishDestroying(through: generation, reason: reason, revocation)
      clearing { () throws(StoreError) in try retireOutboxKey() }
      return isQueued
    } catch {
      note(error)
      unfinished = UnfinishedLogout(
        generation: generation, reason: reason, revocation: revocation, failure: error)
      return false
    }
  }

  package nonisolated func leaveTombstone(
    of session: SessionID, through generation: Generation
  ) throws(StoreError) {
    guard let tombstone else { throw .failed("there is no runtime directory for a tombstone") }
    try tombstone.leave(for: session, through: generation)
  }

  /// Does again what step (c) could not.
  func finishLogout() throws(StoreError) {
    guard let due = unfinished else { return }
    do throws(StoreError) {
      _ = try finishDestroying(through: due.generation, reason: due.reason, due.revocation)
      unfinished = nil
      failure = nil
      clearing { () throws(StoreError) in try retireOutboxKey() }
    } catch {
      unfinished?.failure = error
      throw error
    }
  }

  /// Step (b): no database and no space is needed. When it returns, nothing that is stored of the
  /// sessions below `generation` can be opened again.
  private func destroyKeys(below generation: Generation) throws(StoreError) {
    try reach(.keysToBeDestroyed)
    if let held = present?.generation, held < generation { present = nil }
    try files { () throws(DirectoryError) in try keys.destroy(below: generation) }
    try reach(.keysDestroyed)
  }

  /// Step (c): the tips' fence and the tips, then the rows, then the logs. All are tried; the first
  /// failure is the answer. Each can be done again. Returns whether the revocation is queued.
  private func finishDestroying(
    through generation: Generation, reason: String, _ revocation: SealedRecord?
  ) throws(StoreError) -> Bool {
    var failure: StoreError?
    do throws(StoreError) {
      try moveFence(to: generation, nil)
      try reach(.tipsFenceMoved)
    } catch {
      failure = error
    }
    var isQueued = revocation != nil
    do throws(StoreError) {
      try deleteRows(through: generation, reason: reason, revocation)
    } catch {
      guard revocation != nil else { throw error }
      try deleteRows(through: generation, reason: reason, nil)
      isQueued = false
    }
    knownGeneration = generation
    try files { () throws(DirectoryError) in
      try keys.destroyAll(but: nil)
      try destroyBackups()
    }
    try emptyLogs()
    if let failure { throw failure }
    tombstone?.clear()
    return isQueued
  }

  private func deleteRows(
    through generation: Generation, reason: String, _ revocation: SealedRecord?
  ) throws(StoreError) {
    let database = try sessionDatabase()
    try database.transaction(mapping: \.storeError) { () throws(StoreError) in
      let stored = try sql { () throws(SQLiteError) in try database.storeState().generation }
      // Done before, and asked again to finish the rest.
      guard stored < generation else { return }
      try reach(.sessionToBeWritten)
      try sql { () throws(SQLiteError) in
        try database.deleteSession()
        try database.setStoreState(StoreState(generation: generation, signedOutReason: reason))
        if let revocation { try database.addRevocation(revocation, at: parts.now) }
      }
    }
    try reach(.sessionWritten)
  }

  /// Copies from before a migration hold the session of their time.
  func destroyBackups() throws(DirectoryError) {
    for name in try parts.directory.names() where FileName.isBackup(name) {
      try parts.directory.destroy(name)
    }
  }

  /// Whether the store is beyond this logout: at a later generation, or with a session at this one.
  private func isPast(_ generation: Generation, _ database: Database) throws(StoreError) -> Bool {
    try sql { () throws(SQLiteError) in
      let stored = try database.storeState().generation
      if stored != generation { return stored > generation }
      return try database.sessionRow() != nil
    }
  }
}
