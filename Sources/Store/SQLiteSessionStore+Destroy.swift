import Platform
package import Session

extension SQLiteSessionStore {
  /// A logout's steps (b) and (c). Each can be done again: whoever finds the work half done (a
  /// restart, a later try) does all of it.
  package func destroy(through generation: Generation, reason: String) throws(StoreError) {
    let database = try sessionDatabase()
    if try isPast(generation, database) { return }
    try destroyKeys(below: generation)
    try finishDestroying(through: generation, reason: reason)
  }

  /// Step (b) alone: no database and no space is needed. When it returns, nothing that is stored of
  /// the sessions below `generation` can be opened again.
  package func destroyKeys(below generation: Generation) throws(StoreError) {
    try reach(.keysToBeDestroyed)
    if let held = presentGeneration, held < generation { present = nil }
    try files { () throws(DirectoryError) in try keys.destroy(below: generation) }
    try reach(.keysDestroyed)
  }

  /// Step (c): the tips' fence and the tips, then the rows, then the logs. All are tried; the first
  /// failure is the answer.
  private func finishDestroying(through generation: Generation, reason: String)
    throws(StoreError)
  {
    var failure: StoreError?
    do throws(StoreError) {
      try moveFence(to: generation, nil)
      try reach(.tipsFenceMoved)
    } catch {
      failure = error
    }
    try deleteRows(through: generation, reason: reason)
    knownGeneration = generation
    try files { () throws(DirectoryError) in try keys.destroyAll(but: nil) }
    try emptyLogs()
    if let failure { throw failure }
  }

  private func deleteRows(through generation: Generation, reason: String) throws(StoreError) {
    let database = try sessionDatabase()
    try database.transaction(mapping: \.storeError) { () throws(StoreError) in
      let stored = try sql { () throws(SQLiteError) in try database.storeState().generation }
      // Done before, and asked again to finish the rest.
      guard stored < generation else { return }
      try reach(.sessionToBeWritten)
      try sql { () throws(SQLiteError) in
        try database.deleteSession()
        try database.setStoreState(StoreState(generation: generation, signedOutReason: reason))
      }
    }
    try reach(.sessionWritten)
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
