import CSQLite

extension Database {
  /// Runs `body` in one transaction that holds the write lock from its start (BEGIN IMMEDIATE): what
  /// it reads is what it writes upon. The closure is synchronous, so nothing can come between. What
  /// it throws rolls all of it back.
  ///
  /// `synced` false: the commit is in the log, in its order, but reaches the disk with the next one
  /// that is.
  func transaction<Result, Failure: Error>(
    synced: Bool = true, mapping failure: (SQLiteError) -> Failure,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    do throws(SQLiteError) {
      if synced { try requireDurability() } else { try setSynchronous(.normal) }
      try run("BEGIN IMMEDIATE", to: "begin a transaction")
    } catch {
      throw failure(error)
    }
    let result: Result
    do throws(Failure) {
      result = try body()
    } catch {
      rollBack()
      throw error
    }
    do throws(SQLiteError) {
      try run("COMMIT", to: "commit")
    } catch {
      rollBack()
      throw failure(error)
    }
    return result
  }

  /// Some errors have rolled back already; a failure here leaves nothing to do.
  private func rollBack() {
    if isInTransaction { _ = try? run("ROLLBACK", to: "roll back") }
  }
}
