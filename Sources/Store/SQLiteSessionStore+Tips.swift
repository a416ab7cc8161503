import Session
import Tips

extension SQLiteSessionStore {
  func loadTips(session: SessionID, generation: Generation) throws(StoreError) -> [CachedTip] {
    // Asking for a session that is no longer stored must not open the fence to it.
    guard isPresent(session, generation) else {
      throw .generationMoved(stored: knownGeneration)
    }
    return try withTips { (tips) throws(SQLiteError) in
      try tips.transaction(mapping: { $0 }) { () throws(SQLiteError) in
        try tips.setFence(generation, session)
        return try tips.tips()
      }
    }
  }

  /// Reads one tip without a look at the others: a damaged store is found by `checkTips`.
  func storedTip(
    _ key: TipKey, session: SessionID, generation: Generation
  ) throws(StoreError) -> CachedTip? {
    guard isPresent(session, generation) else {
      throw .generationMoved(stored: knownGeneration)
    }
    let tips = try tipDatabase()
    return try sql { () throws(SQLiteError) in
      try tips.tips(only: key).first { $0.session == session && $0.generation == generation }
    }
  }

  func putTip(_ tip: CachedTip, permit: consuming WritePermit) throws(StoreError) {
    guard tip.session == permit.session, tip.generation == permit.generation else {
      throw .generationMoved(stored: knownGeneration)
    }
    try changeTips(of: permit) { (tips) throws(SQLiteError) in try tips.putTip(tip) }
  }

  func removeTip(_ key: TipKey, permit: consuming WritePermit) throws(StoreError) {
    try changeTips(of: permit) { (tips) throws(SQLiteError) in try tips.deleteTip(key) }
  }

  /// Only within the fence, which is compared in the same transaction (I4, I6).
  private func changeTips(
    of permit: consuming WritePermit, _ change: (Database) throws(SQLiteError) -> Void
  ) throws(StoreError) {
    let generation = permit.generation
    let session = permit.session
    let stored = try withTips { (tips) throws(SQLiteError) in
      try tips.transaction(mapping: { $0 }) { () throws(SQLiteError) -> Generation? in
        let fence = try tips.fence()
        guard fence.generation == generation, fence.session == session else {
          return fence.generation
        }
        try change(tips)
        return nil
      }
    }
    if let stored { throw .generationMoved(stored: stored) }
  }

  func pruneTips(keep: Int) throws(StoreError) {
    try withTips { (tips) throws(SQLiteError) in try tips.deleteTips(keeping: keep) }
  }

  /// From now on only this session's tips are taken, and all others are gone.
  func moveFence(to generation: Generation, _ session: SessionID?) throws(StoreError) {
    try withTips { (tips) throws(SQLiteError) in
      try tips.transaction(mapping: { $0 }) { () throws(SQLiteError) in
        try tips.setFence(generation, session)
      }
    }
  }

  /// Works on `tips.db`; found damaged it is set aside, and the work is done on a new one: tips can
  /// be fetched again.
  private func withTips<Result>(
    _ body: (Database) throws(SQLiteError) -> Result
  ) throws(StoreError) -> Result {
    let tips = try tipDatabase()
    do throws(SQLiteError) {
      return try body(tips)
    } catch {
      guard error.meansDamage else { throw error.storeError }
    }
    try replaceDamagedTips()
    let fresh = try tipDatabase()
    return try sql { () throws(SQLiteError) in try body(fresh) }
  }

  /// A tip store that cannot be checked or replaced costs tips, not the session.
  func checkTips() -> [String] {
    var warnings: [String] = []
    do throws(StoreOpenError) {
      try parts.checkTips(warnings: &warnings)
    } catch {
      return ["the tip store cannot be checked: \(error.message)"]
    }
    if !warnings.isEmpty { try? takeUpNewTips() }
    return warnings
  }

  private func replaceDamagedTips() throws(StoreError) {
    do throws(StoreOpenError) {
      var warnings: [String] = []
      try parts.replaceDamagedTips(warnings: &warnings)
    } catch {
      throw .failed(error.message)
    }
    try takeUpNewTips()
  }

  /// A new tip store remembers the generation from now on, and takes the present session's tips.
  private func takeUpNewTips() throws(StoreError) {
    let known = knownGeneration
    let session = present?.session
    try sql { () throws(SQLiteError) in try parts.tips?.setFence(known, session) }
  }
}
