import Execution
import Platform
package import Secrets
package import Session

/// The store on SQLite: `session.db` with the one session, `tips.db` with its tips, and the keys
/// beside them. An actor on a thread of its own; every method but the protocol's `fingerprint` runs
/// there from its first line to its last, without an `await`, so nothing can come between a
/// comparison of generations and the write that rests on it (I4).
///
/// Every write is durable when it returns (I5, I9). One flow a file: load, install, refresh,
/// destroy, inspect, tips.
package actor SQLiteSessionStore: SessionStore {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  /// Keeps the thread for as long as the store is.
  private let thread: StoreThread
  private nonisolated let fingerprinter: TokenFingerprinter
  nonisolated let tombstone: Tombstone?

  let parts: StoreParts
  /// What is held in memory of the session that is stored.
  var present: PresentSession?
  /// The stored generation as this process last saw it: it alone writes, since it holds the lock.
  var knownGeneration = Generation.none
  /// Why the last write failed, until one succeeds.
  var failure: StoreError?
  /// A logout whose key is gone but whose rows are not.
  var unfinished: UnfinishedLogout?
  /// Files may stand here that nothing needs any more (`clearLeftovers`).
  var hasLeftovers = false

  init(parts: sending StoreParts, thread: StoreThread, fingerprinter: TokenFingerprinter) {
    self.parts = parts
    self.thread = thread
    self.fingerprinter = fingerprinter
    tombstone = Tombstone(parts.configuration)
    unownedExecutor = thread.executor.asUnownedSerialExecutor()
  }

  package nonisolated func fingerprint(of token: borrowing Secret) -> Fingerprint {
    Fingerprint(text: fingerprinter.text(of: token))
  }

  package func close() {
    parts.session?.close()
    parts.session = nil
    parts.tips?.close()
    parts.tips = nil
    present = nil
    parts.lock = nil
  }

  // MARK: For the flows

  var keys: SessionKeys { parts.keys }

  func reach(_ step: StoreStep) throws(StoreError) {
    try parts.configuration.hooks.reach(step)
  }

  func sessionDatabase() throws(StoreError) -> Database {
    guard let database = parts.session else { throw .closed }
    return database
  }

  func tipDatabase() throws(StoreError) -> Database {
    guard let database = parts.tips else { throw .closed }
    return database
  }

  func isPresent(_ session: SessionID, _ generation: Generation) -> Bool {
    present?.session == session && present?.generation == generation
  }

  /// The one form of a write: in a transaction that holds the lock from its start, the stored
  /// generation and session are compared, then `body` writes. What an earlier failure left in the
  /// rescue slot goes first, so that the row never falls behind it.
  func write(
    for generation: Generation, _ session: SessionID,
    _ body: (Database) throws(SQLiteError) -> Void
  ) throws(StoreError) {
    let database = try sessionDatabase()
    do throws(StoreError) {
      try database.transaction(mapping: \.storeError) { () throws(StoreError) in
        try compare(generation, session, in: database)
        try reach(.sessionToBeWritten)
        try sql { () throws(SQLiteError) in
          try catchUp(database)
          try body(database)
        }
      }
      try reach(.sessionWritten)
    } catch {
      note(error)
      throw error
    }
    failure = nil
    forgetRescue()
    try? clearLeftovers()
  }

  private func compare(
    _ generation: Generation, _ session: SessionID, in database: Database
  ) throws(StoreError) {
    let (state, row) = try sql { () throws(SQLiteError) in
      (try database.storeState(), try database.sessionRow())
    }
    guard state.generation == generation, let row, row.session == session else {
      throw .generationMoved(stored: state.generation)
    }
  }

  private func catchUp(_ database: Database) throws(SQLiteError) {
    guard let present else { return }
    if let rescued = present.rescued {
      try database.putRecord(rescued.record, serial: rescued.serial)
      try database.clearAttempts()
    }
    try database.addSpent(present.spent, at: parts.now)
  }

  /// What was in the slot is in the database now.
  private func forgetRescue() {
    guard let present else { return }
    present.spent = []
    guard present.rescued != nil else { return }
    present.rescued = nil
    // Left where it is it does no harm: its serial is no longer above the row's.
    try? RescueSlot(directory: parts.directory, session: present.session).clear()
    try? reach(.rescueCleared)
  }

  /// Remembers why the store took no write, for Health.
  func note(_ error: StoreError) {
    switch error {
    case .generationMoved, .closed: break
    default: failure = error
    }
  }
}

/// What the store keeps in memory of the stored session. When the last reference goes, the key is
/// wiped, and nothing here opens what it has sealed any more.
final class PresentSession {
  let session: SessionID
  let generation: Generation
  let key: SealingKey
  var refreshToken: Fingerprint?
  /// The serial of the newest pair, in the row or in the slot.
  var serial: Int64
  /// The newest pair, where only the rescue slot has it.
  var rescued: RescueSlot.Rescued?
  /// Tokens that are spent, but not recorded as such yet.
  var spent: [Fingerprint] = []

  init(
    _ facts: SessionFacts, key: consuming SealingKey, refreshToken: Fingerprint?, serial: Int64
  ) {
    session = facts.id
    generation = facts.generation
    self.key = key
    self.refreshToken = refreshToken
    self.serial = serial
  }
}

/// Runs SQL where the store's own error is expected.
func sql<Result>(
  _ body: () throws(SQLiteError) -> Result
) throws(StoreError) -> Result {
  do throws(SQLiteError) {
    return try body()
  } catch {
    throw error.storeError
  }
}

/// Works on files where the store's own error is expected.
func files<Result>(
  _ body: () throws(DirectoryError) -> Result
) throws(StoreError) -> Result {
  do throws(DirectoryError) {
    return try body()
  } catch {
    throw error.storeError
  }
}
