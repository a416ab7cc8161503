import Secrets
package import Session

extension SQLiteSessionStore {
  package func recordIntent(
    _ intent: RefreshIntent, permit: consuming WritePermit
  ) throws(StoreError) {
    try write(for: permit.generation, permit.session) { (database) throws(SQLiteError) in
      try database.setIntent(intent)
    }
  }

  package func commit(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) throws(StoreError) {
    let sealed = try seal(record, for: permit.generation, permit.session)
    try write(for: permit.generation, permit.session) { (database) throws(SQLiteError) in
      try database.putRecord(sealed)
      try database.clearAttempts()
    }
    present?.refreshToken = refreshFingerprint(record)
  }

  package func recordFailure(
    _ backoff: BackoffRecord, intent: RefreshIntent?, permit: consuming WritePermit
  ) throws(StoreError) {
    try write(for: permit.generation, permit.session) { (database) throws(SQLiteError) in
      try database.setBackoff(backoff)
      try database.setIntent(intent)
    }
  }

  /// Sealed with the present session's key; a record of any other session came too late.
  private func seal(
    _ record: borrowing SessionRecord, for generation: Generation, _ session: SessionID
  ) throws(StoreError) -> SealedRecord {
    _ = try sessionDatabase()
    guard record.facts.generation == generation, record.facts.id == session,
      isPresent(session, generation)
    else { throw .generationMoved(stored: knownGeneration) }
    let sealed: SealedRecord?? = sealing { SealedRecord.seal(record, with: $0) }
    guard case .some(.some(let sealed)) = sealed else {
      throw .failed("no locked memory for the tokens: raise LimitMEMLOCK=")
    }
    return sealed
  }

  /// Lends the present session's key.
  private func sealing<Result>(_ body: (borrowing SealingKey) -> Result) -> Result? {
    switch present {
    case .some(let present): body(present.key)
    case .none: nil
    }
  }
}
