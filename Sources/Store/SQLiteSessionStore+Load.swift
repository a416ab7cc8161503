import Platform
package import Session

extension SQLiteSessionStore {
  /// Reads what is stored, and finishes what an earlier process left half done: a logout whose key
  /// is gone, a sign-in that never came to its commit. A damaged store is set aside.
  package func load() throws(StoreError) -> LoadedSession {
    present = nil
    let database = try sessionDatabase()
    var found: Restorable
    do throws(SQLiteError) {
      // Asked apart, since a StoreError no longer tells damage from a failing disk.
      _ = try database.sessionRow()
      _ = try database.storeState()
    } catch {
      guard error.meansDamage else { throw error.storeError }
      return try startAnew()
    }
    found = try Restorable.read(database, keys, under: parts.keyring.volume)
    switch found.verdict {
    case .damaged: return try startAnew()
    case .signedOut: return try signedOut()
    case .keyGone(let reason):
      try destroy(through: found.state.generation.next, reason: reason)
      return try signedOut()
    case .session: break
    }
    guard let record = found.record.take(), let key = found.key.take() else {
      return try startAnew()
    }
    try files { () throws(DirectoryError) in try keys.destroyAll(but: record.facts.id) }
    knownGeneration = record.facts.generation
    present = PresentSession(
      session: record.facts.id, generation: record.facts.generation, key: key,
      refreshToken: refreshFingerprint(record))
    return LoadedSession(
      generation: record.facts.generation, record: record, intent: found.intent,
      backoff: found.backoff)
  }

  func refreshFingerprint(_ record: borrowing SessionRecord) -> Fingerprint? {
    switch record.pair.refresh {
    case .some(let token): fingerprint(of: token)
    case .none: nil
    }
  }

  /// There is no session: nothing of one may be left, and the generation is the highest that either
  /// database knows.
  private func signedOut() throws(StoreError) -> LoadedSession {
    let database = try sessionDatabase()
    try files { () throws(DirectoryError) in try keys.destroyAll(but: nil) }
    var state = try sql { () throws(SQLiteError) in try database.storeState() }
    if let highest = try? parts.tips?.fence().highest, highest > state.generation {
      state.generation = highest
      try sql { () throws(SQLiteError) in try database.setStoreState(state) }
    }
    knownGeneration = state.generation
    // A tip store that fails costs tips, not the start.
    try? moveFence(to: state.generation, nil)
    return LoadedSession(
      generation: state.generation, record: nil, reason: state.signedOutReason)
  }

  private func startAnew() throws(StoreError) -> LoadedSession {
    do throws(StoreOpenError) {
      try parts.replaceDamagedSession()
    } catch {
      throw .failed(error.message)
    }
    return try signedOut()
  }
}
