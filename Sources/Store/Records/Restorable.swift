import Platform
import Secrets
import Session

/// What a start would find: read from the disk alone, changing nothing. `load` acts on it,
/// `inspect` shows it, so that the two cannot differ.
struct Restorable: ~Copyable {
  enum Verdict: Equatable {
    case signedOut
    case session
    /// The row is there and its key is not: a logout that is to be finished.
    case keyGone(String)
    case damaged(String)
  }

  var verdict: Verdict
  var state: StoreState
  var row: SessionRow?
  var key: SealingKey?
  var record: SessionRecord?
  var intent: RefreshIntent?
  var backoff: BackoffRecord?
  /// The pair of the rescue slot, where that is newer than the row's; `record` is it then.
  var rescued: RescueSlot.Rescued?

  static func read(
    _ database: Database, _ keys: SessionKeys, under volume: borrowing SealingKey
  ) throws(StoreError) -> Restorable {
    let (state, row, intent, backoff) = try sql { () throws(SQLiteError) in
      (
        try database.storeState(), try database.sessionRow(), try database.intent(),
        try database.backoff()
      )
    }
    var found = Restorable(verdict: .signedOut, state: state, row: row)
    guard let row else { return found }
    let key = try readKey(keys, row.session, under: volume)
    switch consume key {
    case .missing: found.verdict = .keyGone("signed out: the session's key is gone")
    case .damaged: found.verdict = .keyGone("signed out: the session's key is damaged")
    case .key(let key):
      guard let record = row.record.open(with: key), belongs(record.facts, row, state) else {
        found.verdict = .damaged("its record does not open")
        return found
      }
      found.verdict = .session
      found.record = consume record
      found.intent = intent
      found.backoff = backoff
      found.takeRescued(RescueSlot(directory: keys.directory, session: row.session), row, key)
      found.key = consume key
    }
    return found
  }

  /// A pair that only the slot took. With it the last refresh's outcome is known.
  private mutating func takeRescued(
    _ slot: RescueSlot, _ row: SessionRow, _ key: borrowing SealingKey
  ) {
    guard let rescued = slot.read(with: key), rescued.serial > row.serial,
      let record = rescued.record.open(with: key),
      Restorable.belongs(record.facts, row, state)
    else { return }
    self.rescued = rescued
    self.record = consume record
    intent = nil
    backoff = nil
  }

  private static func belongs(_ facts: SessionFacts, _ row: SessionRow, _ state: StoreState) -> Bool
  {
    facts.id == row.session && facts.generation == row.generation
      && row.generation == state.generation
  }

  private static func readKey(
    _ keys: SessionKeys, _ session: SessionID, under volume: borrowing SealingKey
  ) throws(StoreError) -> SessionKeys.Found {
    do throws(DirectoryError) {
      return try keys.read(session, under: volume)
    } catch {
      throw error.storeError
    }
  }
}
