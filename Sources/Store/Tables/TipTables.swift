import Execution
import JSON
import Session
import Tips

/// Whose tips `tips.db` takes, and the highest generation that it has ever seen. The second never
/// goes back: it is what a session store that was lost starts above.
struct TipFence: Equatable {
  var highest: Generation
  var generation: Generation
  var session: SessionID?
}

/// Reads and writes the rows of `tips.db`.
extension Database {
  func fence() throws(SQLiteError) -> TipFence {
    let rows = try rows(
      "SELECT highest_generation, fence_generation, fence_session FROM store", to: "read the fence")
    guard let row = rows.first else { throw damaged("read the fence") }
    return TipFence(
      highest: Generation(UInt64(bitPattern: try row.integer(0))),
      generation: Generation(UInt64(bitPattern: try row.integer(1))),
      session: try row.optionalBlob(2).flatMap(SessionID.init(bytes:)))
  }

  /// Moves the fence and deletes every tip that is outside of it.
  func setFence(_ generation: Generation, _ session: SessionID?) throws(SQLiteError) {
    try run(
      """
      UPDATE store SET highest_generation = max(highest_generation, ?1), fence_generation = ?1,
        fence_session = ?2
      """,
      [.integer(generation.sqlValue), session.map { .blob($0.bytes) } ?? .null],
      to: "move the tips' fence")
    guard let session else {
      try run("DELETE FROM tip", to: "delete the tips")
      return
    }
    try run(
      "DELETE FROM tip WHERE session_id <> ? OR generation <> ?",
      [.blob(session.bytes), .integer(generation.sqlValue)], to: "delete other sessions' tips")
  }

  /// Newest first; all, or that of one key.
  func tips(only key: TipKey? = nil) throws(SQLiteError) -> [CachedTip] {
    let rows = try rows(
      """
      SELECT key, session_id, generation, fetched_at, fresh_for, entity_tag, last_modified, body
      FROM tip \(key == nil ? "" : "WHERE key = ? ")ORDER BY fetched_at DESC, key
      """, key.map { [.text($0.text)] } ?? [], to: "read the tips")
    var tips: [CachedTip] = []
    for row in rows {
      guard let key = TipKey(text: try row.text(0)),
        let session = SessionID(bytes: try row.blob(1)),
        let tip = try? JSONText.decode(StoredTip.self, from: try row.blob(7))
      else { throw damaged("read the tips") }
      tips.append(
        CachedTip(
          key: key, tip: tip.tip, session: session,
          generation: Generation(UInt64(bitPattern: try row.integer(2))),
          fetchedAt: WallTime(milliseconds: try row.integer(3)),
          freshFor: .milliseconds(try row.integer(4)), entityTag: try row.optionalText(5),
          lastModified: try row.optionalText(6)))
      tips[tips.count - 1].staleIfError = tip.staleIfError.map { .milliseconds($0) }
      tips[tips.count - 1].staleWhileRevalidate = .milliseconds(tip.staleWhileRevalidate ?? 0)
    }
    return tips
  }

  func putTip(_ tip: CachedTip) throws(SQLiteError) {
    guard let body = try? JSONText.encode(StoredTip(tip)) else {
      throw damaged("store a tip")
    }
    try run(
      """
      INSERT OR REPLACE INTO tip (key, session_id, generation, fetched_at, fresh_for, entity_tag,
        last_modified, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(tip.key.text), .blob(tip.session.bytes), .integer(tip.generation.sqlValue),
        .integer(tip.fetchedAt.milliseconds),
        .integer(tip.freshFor.clampedNanoseconds / 1_000_000), .optional(tip.entityTag),
        .optional(tip.lastModified), .blob(body),
      ], to: "store a tip")
  }

  func deleteTip(_ key: TipKey) throws(SQLiteError) {
    try run("DELETE FROM tip WHERE key = ?", [.text(key.text)], to: "delete a tip")
  }

  func deleteTips(keeping count: Int) throws(SQLiteError) {
    try run(
      """
      DELETE FROM tip WHERE key <> ?1 AND key NOT IN (
        SELECT key FROM tip WHERE key <> ?1 ORDER BY fetched_at DESC, key LIMIT ?2)
      """, [.text(TipKey.today.text), .integer(Int64(count))], to: "prune the tips")
  }

  func tipCount() throws(SQLiteError) -> Int {
    Int(try rows("SELECT count(*) FROM tip", to: "count the tips").first?.integer(0) ?? 0)
  }
}

/// A tip as its row's JSON.
private struct StoredTip: Codable {
  var id: String
  var date: String?
  var title: String
  var body: String
  var tags: [String]
  var url: String?
  var extra: [String: JSONValue]
  /// Milliseconds past `fresh_for`.
  var staleIfError: Int64?
  var staleWhileRevalidate: Int64?

  init(_ cached: CachedTip) {
    let tip = cached.tip
    staleIfError = cached.staleIfError.map { $0.clampedNanoseconds / 1_000_000 }
    staleWhileRevalidate = cached.staleWhileRevalidate.clampedNanoseconds / 1_000_000
    id = tip.id
    date = tip.date
    title = tip.title
    body = tip.body
    tags = tip.tags
    url = tip.url
    extra = tip.extra
  }

  var tip: Tip {
    Tip(id: id, date: date, title: title, body: body, tags: tags, url: url, extra: extra)
  }
}
