package import Session

extension SQLiteSessionStore: EventJournal {
  package func lastSequence() throws(StoreError) -> Int64 {
    let database = try sessionDatabase()
    return try sql { () throws(SQLiteError) in try database.lastSequence() }
  }

  /// Costs no sync of its own: it is written to the log, and the next commit of a pair, which
  /// syncs the whole log, makes it durable as well. Order is kept; a power cut takes at most the
  /// newest of the history.
  package func append(_ events: [EventRecord]) throws(StoreError) {
    let database = try sessionDatabase()
    try sql { () throws(SQLiteError) in
      try database.transaction(synced: false, mapping: { $0 }) { () throws(SQLiteError) in
        try database.appendEvents(events)
      }
    }
    try? clearLeftovers()
  }

  // `async`, as the protocol's default is, which a synchronous method would lose against.
  package func recordLife(_ life: SessionLife) async throws(StoreError) {
    let database = try sessionDatabase()
    try sql { () throws(SQLiteError) in
      try database.transaction(synced: false, mapping: { $0 }) { () throws(SQLiteError) in
        try database.addLife(life)
      }
    }
  }

  package func newest(limit: Int) throws(StoreError) -> [EventRecord] {
    let database = try sessionDatabase()
    return try sql { () throws(SQLiteError) in try database.newestEvents(limit: limit) }
  }
}
