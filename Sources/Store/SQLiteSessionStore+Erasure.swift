package import Session

extension SQLiteSessionStore {
  package func verifyErasure() async throws(StoreError) -> [String] { [] }
}
