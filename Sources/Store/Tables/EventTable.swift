import Execution
import Session

/// The history's rows in `session.db`. They survive logouts.
extension Database {
  static let eventsKept: Int64 = 1000

  func lastSequence() throws(SQLiteError) -> Int64 {
    try rows("SELECT last_sequence FROM store", to: "read the last event's number").first?
      .integer(0) ?? 0
  }

  func appendEvents(_ events: [EventRecord]) throws(SQLiteError) {
    for event in events {
      try run(
        """
        INSERT OR REPLACE INTO event
          (sequence, at, kind, generation, detail, actor_uid, http_status)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .integer(event.sequence), .integer(event.at.milliseconds), .text(event.kind),
          .integer(event.generation.sqlValue), .optional(event.detail),
          .optional(event.actorUID.map { Int64($0) }),
          .optional(event.httpStatus.map { Int64($0) }),
        ], to: "record an event")
    }
    guard let last = events.map(\.sequence).max() else { return }
    try run(
      "UPDATE store SET last_sequence = max(last_sequence, ?)", [.integer(last)],
      to: "record the last event's number")
    try run(
      """
      DELETE FROM event WHERE sequence <=
        (SELECT sequence FROM event ORDER BY sequence DESC LIMIT 1 OFFSET ?)
      """, [.integer(Self.eventsKept)], to: "drop old events")
  }

  func newestEvents(limit: Int) throws(SQLiteError) -> [EventRecord] {
    let rows = try rows(
      """
      SELECT sequence, at, kind, generation, detail, actor_uid, http_status
      FROM event ORDER BY sequence DESC LIMIT ?
      """, [.integer(Int64(max(0, limit)))], to: "read the history")
    var events: [EventRecord] = []
    for row in rows {
      events.append(
        EventRecord(
          sequence: try row.integer(0), at: WallTime(milliseconds: try row.integer(1)),
          kind: try row.text(2), generation: Generation(UInt64(bitPattern: try row.integer(3))),
          detail: try row.optionalText(4),
          actorUID: try row.optionalInteger(5).map { UInt32(truncatingIfNeeded: $0) },
          httpStatus: try row.optionalInteger(6).map { Int($0) }))
    }
    return events
  }
}
