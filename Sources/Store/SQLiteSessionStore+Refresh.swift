package import Session

extension SQLiteSessionStore {
  package func recordIntent(
    _ intent: RefreshIntent, permit: consuming WritePermit
  ) throws(StoreError) {
    try write(for: permit.generation, permit.session) { (database) throws(SQLiteError) in
      try database.setIntent(intent)
    }
  }

  /// Where the database fails, the pair goes to the rescue slot, and that is success: it is durable.
  /// A failure means that both have failed.
  package func commit(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) throws(StoreError) {
    _ = try sessionDatabase()
    let generation = permit.generation
    let session = permit.session
    guard let present, record.facts.generation == generation, record.facts.id == session,
      isPresent(session, generation)
    else { throw .generationMoved(stored: knownGeneration) }
    guard let sealed = SealedRecord.seal(record, with: present.key) else {
      throw .failed("no locked memory for the tokens: raise LimitMEMLOCK=")
    }
    let refreshToken = refreshFingerprint(record)
    if let old = present.refreshToken, old != refreshToken { present.spent.append(old) }
    present.refreshToken = refreshToken
    present.spent.removeAll { $0 == refreshToken }
    let serial = present.serial + 1
    do throws(StoreError) {
      try write(for: generation, session) { (database) throws(SQLiteError) in
        try database.putRecord(sealed, serial: serial)
        try database.clearAttempts()
        if let refreshToken { try database.removeSpent(refreshToken) }
      }
    } catch {
      if case .generationMoved = error { throw error }
      try rescue(RescueSlot.Rescued(serial: serial, record: sealed), for: present, after: error)
    }
    present.serial = serial
  }

  package func recordFailure(
    _ backoff: BackoffRecord, intent: RefreshIntent?, permit: consuming WritePermit
  ) throws(StoreError) {
    try write(for: permit.generation, permit.session) { (database) throws(SQLiteError) in
      try database.setBackoff(backoff)
      try database.setIntent(intent)
    }
  }

  package func isSpent(_ token: Fingerprint) async throws(StoreError) -> Bool {
    let database = try sessionDatabase()
    if let present, present.spent.contains(token) { return true }
    return try sql { () throws(SQLiteError) in try database.isSpent(token) }
  }

  /// Throws the database's error where the slot fails too: that one a person can act on.
  private func rescue(
    _ rescued: RescueSlot.Rescued, for present: PresentSession, after error: StoreError
  ) throws(StoreError) {
    do throws(StoreError) {
      try reach(.rescueToBeWritten)
      try RescueSlot(directory: parts.directory, session: present.session)
        .write(rescued, with: present.key)
      present.rescued = rescued
      try reach(.rescueWritten)
    } catch {
      throw self.failure ?? error
    }
  }
}
