import Execution
import Session

/// What `session.db` says about the whole store.
struct StoreState: Equatable {
  var generation: Generation
  var signedOutReason: String?
}

/// The one session's row.
struct SessionRow {
  var session: SessionID
  var generation: Generation
  /// Counts the pairs that were committed; tells a rescued one that is newer from one that is not.
  var serial: Int64
  var record: SealedRecord
  /// The machine it was signed in on, in the application-specific form; nil where it had no id.
  var machine: [UInt8]?
}

/// Reads and writes the rows of `session.db`. No rule is here but what a column may hold.
extension Database {
  func storeState() throws(SQLiteError) -> StoreState {
    let rows = try rows(
      "SELECT generation, signed_out_reason FROM store WHERE id = 1", to: "read the generation")
    guard let row = rows.first else { throw damaged("read the generation") }
    return StoreState(
      generation: Generation(UInt64(bitPattern: try row.integer(0))),
      signedOutReason: try row.optionalText(1))
  }

  func setStoreState(_ state: StoreState) throws(SQLiteError) {
    try run(
      "UPDATE store SET generation = ?, signed_out_reason = ? WHERE id = 1",
      [.integer(state.generation.sqlValue), .optional(state.signedOutReason)],
      to: "store the generation")
  }

  func sessionRow() throws(SQLiteError) -> SessionRow? {
    let rows = try rows(
      "SELECT session_id, generation, serial, facts, pair, machine FROM session",
      to: "read the session")
    guard let row = rows.first else { return nil }
    guard let session = SessionID(bytes: try row.blob(0)) else { throw damaged("read the session") }
    return SessionRow(
      session: session, generation: Generation(UInt64(bitPattern: try row.integer(1))),
      serial: try row.integer(2),
      record: SealedRecord(facts: try row.blob(3), pair: try row.blob(4)),
      machine: try row.optionalBlob(5))
  }

  func putSession(_ row: SessionRow) throws(SQLiteError) {
    try run(
      """
      INSERT OR REPLACE INTO session (id, session_id, generation, serial, facts, pair, machine)
      VALUES (1, ?, ?, ?, ?, ?, ?)
      """,
      [
        .blob(row.session.bytes), .integer(row.generation.sqlValue), .integer(row.serial),
        .blob(row.record.facts), .blob(row.record.pair), row.machine.map { .blob($0) } ?? .null,
      ], to: "store the session")
  }

  func putRecord(_ record: SealedRecord, serial: Int64) throws(SQLiteError) {
    try run(
      "UPDATE session SET serial = ?, facts = ?, pair = ?",
      [.integer(serial), .blob(record.facts), .blob(record.pair)], to: "store the tokens")
  }

  func setMachine(_ machine: [UInt8]?) throws(SQLiteError) {
    try run(
      "UPDATE session SET machine = ?", [machine.map { .blob($0) } ?? .null],
      to: "record the machine")
  }

  func deleteSession() throws(SQLiteError) {
    try run("DELETE FROM session", to: "delete the session")
    try clearAttempts()
  }

  func clearAttempts() throws(SQLiteError) {
    try run("DELETE FROM intent", to: "clear the intent")
    try run("DELETE FROM backoff", to: "clear the backoff")
  }

  func intent() throws(SQLiteError) -> RefreshIntent? {
    let rows = try rows("SELECT token, started_at, tries FROM intent", to: "read the intent")
    guard let row = rows.first else { return nil }
    return RefreshIntent(
      token: Fingerprint(text: try row.text(0)),
      startedAt: WallTime(milliseconds: try row.integer(1)), tries: Int(try row.integer(2)))
  }

  func setIntent(_ intent: RefreshIntent?) throws(SQLiteError) {
    guard let intent else {
      try run("DELETE FROM intent", to: "clear the intent")
      return
    }
    try run(
      "INSERT OR REPLACE INTO intent (id, token, started_at, tries) VALUES (1, ?, ?, ?)",
      [
        .text(intent.token.text), .integer(intent.startedAt.milliseconds),
        .integer(Int64(intent.tries)),
      ], to: "record the intent")
  }

  func backoff() throws(SQLiteError) -> BackoffRecord? {
    let rows = try rows(
      "SELECT failures, not_before, pause, reason FROM backoff", to: "read the backoff")
    guard let row = rows.first else { return nil }
    return BackoffRecord(
      failures: Int(try row.integer(0)), notBefore: WallTime(milliseconds: try row.integer(1)),
      pause: try row.optionalInteger(2).map { .milliseconds($0) }, reason: try row.text(3))
  }

  func setBackoff(_ backoff: BackoffRecord) throws(SQLiteError) {
    try run(
      """
      INSERT OR REPLACE INTO backoff (id, failures, not_before, pause, reason)
      VALUES (1, ?, ?, ?, ?)
      """,
      [
        .integer(Int64(backoff.failures)), .integer(backoff.notBefore.milliseconds),
        .optional(backoff.pause.map { $0.clampedNanoseconds / 1_000_000 }), .text(backoff.reason),
      ], to: "record the backoff")
  }
}

extension Generation {
  var sqlValue: Int64 { Int64(bitPattern: number) }
}
