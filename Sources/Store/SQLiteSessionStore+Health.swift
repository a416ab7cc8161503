package import Session

extension SQLiteSessionStore {
  /// Tries what is left to do: a logout's rows, a rescued pair; and, after a failure, whether the
  /// disk takes writes again.
  package func settle() async -> StoreHealth {
    guard parts.session != nil else { return StoreHealth(failure: .closed) }
    try? finishLogout()
    if let present, failure != nil || present.rescued != nil {
      try? write(for: present.generation, present.session) { (database) throws(SQLiteError) in
        // What is written is there already; an empty transaction would prove nothing.
        try database.setStoreState(try database.storeState())
      }
    } else if failure != nil {
      probe()
    }
    if failure == nil { try? clearLeftovers() }
    return StoreHealth(
      failure: failure, isRescued: present?.rescued != nil,
      unfinishedLogout: unfinished.map {
        "the session's key is destroyed, its rows are not: \($0.failure.reason)"
      })
  }

  /// Writes the generation that is there already.
  private func probe() {
    do throws(StoreError) {
      let database = try sessionDatabase()
      try database.transaction(mapping: \.storeError) { () throws(StoreError) in
        try sql { () throws(SQLiteError) in
          try database.setStoreState(try database.storeState())
        }
      }
      failure = nil
    } catch {
      failure = error
    }
  }
}
