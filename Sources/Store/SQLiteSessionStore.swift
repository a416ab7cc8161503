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

  let parts: StoreParts
  /// What is held in memory of the session that is stored.
  var present: PresentSession?
  /// The stored generation as this process last saw it: it alone writes, since it holds the lock.
  var knownGeneration = Generation.none

  init(parts: sending StoreParts, thread: StoreThread, fingerprinter: TokenFingerprinter) {
    self.parts = parts
    self.thread = thread
    self.fingerprinter = fingerprinter
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

  var presentSession: SessionID? {
    switch present {
    case .some(let present): present.session
    case .none: nil
    }
  }

  var presentGeneration: Generation? {
    switch present {
    case .some(let present): present.generation
    case .none: nil
    }
  }

  func isPresent(_ session: SessionID, _ generation: Generation) -> Bool {
    switch present {
    case .some(let present): present.session == session && present.generation == generation
    case .none: false
    }
  }

  /// The one form of a write: in a transaction that holds the lock from its start, the stored
  /// generation and session are compared, then `body` writes.
  func write(
    for generation: Generation, _ session: SessionID,
    _ body: (Database) throws(SQLiteError) -> Void
  ) throws(StoreError) {
    let database = try sessionDatabase()
    try database.transaction(mapping: \.storeError) { () throws(StoreError) in
      let (state, row) = try sql { () throws(SQLiteError) in
        (try database.storeState(), try database.sessionRow())
      }
      guard state.generation == generation, let row, row.session == session else {
        throw .generationMoved(stored: state.generation)
      }
      try reach(.sessionToBeWritten)
      try sql { () throws(SQLiteError) in try body(database) }
    }
    try reach(.sessionWritten)
  }
}

/// What the store keeps in memory of the stored session: enough to write it again, nothing that
/// opens it once it is gone.
struct PresentSession: ~Copyable {
  var session: SessionID
  var generation: Generation
  var key: SealingKey
  var refreshToken: Fingerprint?
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
