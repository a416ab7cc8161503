import Execution
import Session

/// Rows of the revocation outbox.
extension Database {
  func addRevocation(_ record: SealedRecord, at now: WallTime) throws(SQLiteError) {
    try run(
      "INSERT INTO revocation (facts, pair, added_at) VALUES (?, ?, ?)",
      [.blob(record.facts), .blob(record.pair), .integer(now.milliseconds)],
      to: "queue a revocation")
  }

  func revocations() throws(SQLiteError) -> [PendingRevocation] {
    let rows = try rows(
      "SELECT id, facts, added_at, tries FROM revocation ORDER BY id", to: "read the outbox")
    var pending: [PendingRevocation] = []
    for row in rows {
      guard let facts = StoredFacts.decode(try row.blob(1)) else { continue }
      pending.append(
        PendingRevocation(
          id: try row.integer(0), session: facts.id, binding: facts.binding,
          addedAt: WallTime(milliseconds: try row.integer(2)), tries: Int(try row.integer(3))))
    }
    return pending
  }

  func revocation(_ id: Int64) throws(SQLiteError) -> SealedRecord? {
    let rows = try rows(
      "SELECT facts, pair FROM revocation WHERE id = ?", [.integer(id)], to: "read the outbox")
    guard let row = rows.first else { return nil }
    return SealedRecord(facts: try row.blob(0), pair: try row.blob(1))
  }

  func countTry(of id: Int64) throws(SQLiteError) {
    try run(
      "UPDATE revocation SET tries = tries + 1 WHERE id = ?", [.integer(id)],
      to: "count a revocation's try")
  }

  func removeRevocation(_ id: Int64) throws(SQLiteError) {
    try run("DELETE FROM revocation WHERE id = ?", [.integer(id)], to: "remove a revocation")
  }

  /// Deletes what was added before `time`, or all of it, or what lies in the future (a clock that
  /// was set back must not keep a token for years).
  func removeRevocations(before time: WallTime?, now: WallTime) throws(SQLiteError) {
    guard let time else {
      try run("DELETE FROM revocation", to: "empty the outbox")
      return
    }
    try run(
      "DELETE FROM revocation WHERE added_at < ? OR added_at > ?",
      [
        .integer(time.milliseconds), .integer(now.advanced(by: .seconds(86_400)).milliseconds),
      ], to: "expire revocations")
  }

  func revocationCount() throws(SQLiteError) -> Int {
    Int(
      try rows("SELECT count(*) FROM revocation", to: "count the outbox").first?.integer(0) ?? 0)
  }
}
