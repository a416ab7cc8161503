import Platform
package import Session

extension SQLiteSessionStore {
  /// Reads what is stored, and finishes what an earlier process left half done: a logout whose key
  /// is gone, a sign-in that never came to its commit. A damaged store is set aside.
  package func load() throws(StoreError) -> LoadedSession {
    var loaded = try loadSession()
    clearing { () throws(StoreError) in try retireOutboxKey() }
    // History: a failure costs a forecast, not the start.
    loaded.lives = (try? sessionDatabase().lives()) ?? []
    return loaded
  }

  private func loadSession() throws(StoreError) -> LoadedSession {
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
      let moved = found.row.flatMap { keys.generationOfLogout(of: $0.session) }
      try logOut(past: found.state.generation, to: moved, reason)
      return try signedOut()
    case .session: break
    }
    guard let row = found.row, let record = found.record.take(), let key = found.key.take() else {
      return try startAnew()
    }
    if let moved = tombstone?.generation(for: row.session) {
      try logOut(
        past: row.generation, to: moved,
        "signed out: the logout could not be made durable before the restart")
      return try signedOut()
    }
    try files { () throws(DirectoryError) in try keys.destroyAll(but: row.session) }
    knownGeneration = row.generation
    let present = PresentSession(
      record.facts, key: key, refreshToken: refreshFingerprint(record), serial: row.serial)
    if let rescued = found.rescued {
      present.serial = rescued.serial
      present.rescued = rescued
    }
    self.present = present
    if present.rescued != nil {
      // A disk that still takes no writes leaves it in the slot, where it is durable as well.
      try? write(for: row.generation, row.session) { _ in }
    }
    return LoadedSession(
      generation: row.generation, record: record, intent: found.intent, backoff: found.backoff,
      isCopied: isCopied(row))
  }

  /// Whether the session was signed in on another machine; false where one of the two has no id.
  private func isCopied(_ row: SessionRow) -> Bool {
    guard let stored = row.machine,
      let here = MachineIdentity.read(parts.configuration.machineIDPath)
    else { return false }
    return stored != here
  }

  package func adoptMachine(permit: consuming WritePermit) async throws(StoreError) {
    let here = MachineIdentity.read(parts.configuration.machineIDPath)
    try write(for: permit.generation, permit.session) { (database) throws(SQLiteError) in
      try database.setMachine(here)
    }
  }

  /// Finishes a logout that an earlier process began.
  private func logOut(
    past stored: Generation, to moved: Generation?, _ reason: String
  ) throws(StoreError) {
    try destroy(through: max(stored.next, moved ?? stored), reason: reason)
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
    // Rows that this disk does not let go are dead without their key; `settle` goes on trying.
    if let unfinished {
      knownGeneration = unfinished.generation
      return LoadedSession(
        generation: unfinished.generation, record: nil, reason: unfinished.reason)
    }
    let database = try sessionDatabase()
    try files { () throws(DirectoryError) in try keys.destroyAll(but: nil) }
    var state = try sql { () throws(SQLiteError) in try database.storeState() }
    if let highest = try? parts.tips?.fence().highest, highest > state.generation {
      state.generation = highest
      try sql { () throws(SQLiteError) in
        try database.requireDurability()
        try database.setStoreState(state)
      }
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
