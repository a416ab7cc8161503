package import Execution

/// How the store does.
package struct StoreHealth: Equatable, Sendable {
  /// Why it takes no writes; nil: it does.
  package var failure: StoreError?
  /// A pair stands in the rescue slot: durable, but not in the database yet.
  package var isRescued: Bool
  /// What a logout has still to delete, although it can no longer be opened; nil: nothing.
  package var unfinishedLogout: String?

  package init(
    failure: StoreError? = nil, isRescued: Bool = false, unfinishedLogout: String? = nil
  ) {
    self.failure = failure
    self.isRescued = isRescued
    self.unfinishedLogout = unfinishedLogout
  }
}

/// Tokens of an ended session that wait to be revoked.
package struct PendingRevocation: Hashable, Sendable {
  package var id: Int64
  package var session: SessionID
  /// Where they may go, and nowhere else (I11).
  package var binding: UpstreamBinding
  package var addedAt: WallTime
  package var tries: Int

  package init(
    id: Int64, session: SessionID, binding: UpstreamBinding, addedAt: WallTime, tries: Int
  ) {
    self.id = id
    self.session = session
    self.binding = binding
    self.addedAt = addedAt
    self.tries = tries
  }
}

/// Where tokens wait for their revocation: sealed under a key of its own, for a day at most. The one
/// place where a credential outlives its session.
package protocol RevocationOutbox: Sendable {
  /// Adds the tokens of a late answer, whose session had ended.
  func add(_ record: consuming SessionRecord) async throws(StoreError)

  /// Deletes what has waited for a day, and says how many there were.
  func dropExpired() async throws(StoreError) -> Int

  /// What waits, oldest first. What has waited for a day is deleted first.
  func pending() async throws(StoreError) -> [PendingRevocation]

  /// The tokens of one entry; nil where it is gone or cannot be opened.
  func tokens(of id: Int64) async throws(StoreError) -> TokenPair?

  /// Counts one more try.
  func recordTry(of id: Int64) async throws(StoreError)

  func remove(_ id: Int64) async throws(StoreError)

  /// Forgets all of them, the key first (`revoke: false`).
  func forgetAll() async throws(StoreError)
}

/// What an outbox answers that forgets by itself (a test's).
extension RevocationOutbox {
  package func dropExpired() async throws(StoreError) -> Int { 0 }
}

/// What a store without these concerns answers (a replicated one, a test's).
extension SessionStore {
  package func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit,
    revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool {
    try await install(record, permit: permit)
    return false
  }

  package func destroy(
    through generation: Generation, reason: String, revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool {
    try await destroy(through: generation, reason: reason)
    return false
  }

  package func leaveTombstone(
    of session: SessionID, through generation: Generation
  ) throws(StoreError) {}

  package func isSpent(_ token: Fingerprint) async throws(StoreError) -> Bool { false }

  package func adoptMachine(permit: consuming WritePermit) async throws(StoreError) {}

  package func recordLife(_ life: SessionLife) async throws(StoreError) {}

  package func settle() async -> StoreHealth { StoreHealth() }

  package func verifyErasure() async throws(StoreError) -> [String] { [] }
}
