package import Session
package import Tips

/// The tip store's face: `tips.db`, on the session store's thread. What it does is in
/// `SQLiteSessionStore+Tips.swift`, since a logout has to reach both databases in one step.
package struct SQLiteTipStore: TipStore {
  let store: SQLiteSessionStore

  package func load(session: SessionID, generation: Generation) async throws(StoreError)
    -> [CachedTip]
  {
    try await store.loadTips(session: session, generation: generation)
  }

  package func stored(
    _ key: TipKey, session: SessionID, generation: Generation
  ) async throws(StoreError) -> CachedTip? {
    try await store.storedTip(key, session: session, generation: generation)
  }

  package func put(_ tip: CachedTip, permit: consuming WritePermit) async throws(StoreError) {
    try await store.putTip(tip, permit: permit)
  }

  package func remove(_ key: TipKey, permit: consuming WritePermit) async throws(StoreError) {
    try await store.removeTip(key, permit: permit)
  }

  package func prune(keep: Int) async throws(StoreError) {
    try await store.pruneTips(keep: keep)
  }
}
