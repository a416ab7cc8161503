import Execution
import Platform
import Secrets
package import Session

extension SQLiteSessionStore: RevocationOutbox {
  /// How long a token waits for its revocation at most.
  private static let patience = Duration.seconds(86_400)

  package func add(_ record: consuming SessionRecord) throws(StoreError) {
    let database = try sessionDatabase()
    guard let sealed = sealForOutbox(record) else {
      throw .failed("\(FileName.outboxKey): cannot be made")
    }
    do throws(StoreError) {
      try sql { () throws(SQLiteError) in
        try database.requireDurability()
        try database.addRevocation(sealed, at: parts.now)
      }
    } catch {
      hasLeftovers = true
      try? clearLeftovers()
      throw error
    }
  }

  package func pending() throws(StoreError) -> [PendingRevocation] {
    _ = try expire()
    let database = try sessionDatabase()
    let pending = try sql { () throws(SQLiteError) in try database.revocations() }
    if pending.isEmpty { try retireOutboxKey() }
    return pending
  }

  // `async`, as the protocol's default is, which a synchronous method would lose against.
  package func dropExpired() async throws(StoreError) -> Int { try expire() }

  private func expire() throws(StoreError) -> Int {
    let database = try sessionDatabase()
    let now = parts.now
    let dropped = try sql { () throws(SQLiteError) in
      let all = try database.revocationCount()
      guard all > 0 else { return 0 }
      try database.removeRevocations(before: now.advanced(by: .zero - Self.patience), now: now)
      return try all - database.revocationCount()
    }
    if dropped > 0 { clearing { () throws(StoreError) in try retireOutboxKey() } }
    return dropped
  }

  package func tokens(of id: Int64) throws(StoreError) -> TokenPair? {
    let database = try sessionDatabase()
    guard let sealed = try sql({ () throws(SQLiteError) in try database.revocation(id) }),
      let key = outboxKey(), let record = sealed.open(with: key)
    else { return nil }
    return try? record.pair.copy()
  }

  package func recordTry(of id: Int64) throws(StoreError) {
    let database = try sessionDatabase()
    try sql { () throws(SQLiteError) in try database.countTry(of: id) }
  }

  package func remove(_ id: Int64) throws(StoreError) {
    let database = try sessionDatabase()
    try sql { () throws(SQLiteError) in
      try database.requireDurability()
      try database.removeRevocation(id)
    }
    clearing { () throws(StoreError) in try retireOutboxKey() }
  }

  package func forgetAll() throws(StoreError) {
    let database = try sessionDatabase()
    try destroyOutboxKey()
    unfinished?.revocation = nil
    try sql { () throws(SQLiteError) in
      try database.requireDurability()
      try database.removeRevocations(before: nil, now: parts.now)
      _ = try database.truncateLog()
    }
  }

  /// Sealed for the outbox; nil where there is nothing to seal or no key can be made: a logout does
  /// not fail for want of a revocation.
  func sealForOutbox(_ record: consuming SessionRecord?) -> SealedRecord? {
    guard let record = record.take() else { return nil }
    guard let key = outboxKey() ?? makeOutboxKey() else { return nil }
    return SealedRecord.seal(record, with: key)
  }

  func outboxKey() -> SealingKey? {
    guard
      let bytes = try? parts.directory.read(FileName.outboxKey, limit: SealedKeyFile.byteCount),
      let file = SealedKeyFile(bytes: bytes), file.purpose == .outbox
    else { return nil }
    return file.open(with: parts.keyring.volume)
  }

  /// One that is there but does not open has nothing that it could open; it is replaced.
  private func makeOutboxKey() -> SealingKey? {
    guard let key = try? SealingKey.random(),
      let id = SessionID(bytes: Entropy.system.bytes(16))
    else { return nil }
    let file = SealedKeyFile(
      .outbox, generation: .none, id: id, key: key, under: parts.keyring.volume)
    guard (try? parts.directory.replace(FileName.outboxKey, file.bytes)) != nil else { return nil }
    return key
  }

  /// Destroys a key that seals nothing any more: the last entry has gone, or the one that it was made
  /// for never came. What an unfinished logout will still add needs it.
  func retireOutboxKey() throws(StoreError) {
    guard parts.directory.exists(FileName.outboxKey), unfinished?.revocation == nil else { return }
    let database = try sessionDatabase()
    guard try sql({ () throws(SQLiteError) in try database.revocations() }).isEmpty else { return }
    try destroyOutboxKey()
  }

  /// With the key gone, what the freed rows may have left cannot be opened; the next entry makes
  /// a new one.
  private func destroyOutboxKey() throws(StoreError) {
    guard parts.directory.exists(FileName.outboxKey) else { return }
    try files { () throws(DirectoryError) in try parts.directory.destroy(FileName.outboxKey) }
  }
}
