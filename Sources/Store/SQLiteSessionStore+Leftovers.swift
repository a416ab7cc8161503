import Platform
import Session

/// Files are made before the commit that gives them a meaning, and destroyed after the one that
/// takes it away. Where the second half fails, what is left is known here and tried again: with the
/// next write that succeeds, by `settle`, by `verifyErasure`; a restart begins with it.
extension SQLiteSessionStore {
  /// Destroys what neither the present session nor the outbox needs. A commit that failed may still
  /// stand in the log and come true at a restart, and would need its files then; the empty log rules
  /// that out, so it comes first. Waits for nobody: it is tried with every write.
  func clearLeftovers() throws(StoreError) {
    // A logout's emptied key keeps standing until its rows are gone (`SessionKeys`).
    guard hasLeftovers, unfinished == nil else { return }
    try emptyLogs(waiting: false)
    let database = try sessionDatabase()
    // The row's session: a key that a logout could not destroy is that logout's affair.
    let row = try sql { () throws(SQLiteError) in try database.sessionRow() }
    try files { () throws(DirectoryError) in
      try keys.destroyAll(but: row?.session)
      try destroyBackups()
    }
    try retireOutboxKey()
    hasLeftovers = false
  }

  /// Runs what clears up after a flow, and remembers where it fails.
  func clearing(_ body: () throws(StoreError) -> Void) {
    do throws(StoreError) {
      try body()
    } catch {
      hasLeftovers = true
    }
  }
}
