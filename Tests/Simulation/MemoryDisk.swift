package import Execution
package import Secrets
package import Session
package import Tips

/// What a session store and a tip store hold, as a value: the rules of the ports without SQLite.
/// Shared by the scripted store of the tests and by the simulation, whose crash keeps a copy of it.
package struct MemoryDisk: Sendable {
  /// A stored session; the tokens are dummies and stand in clear.
  package struct Row: Hashable, Sendable {
    package var facts: SessionFacts
    package var access: String?
    package var refresh: String?

    package init(facts: SessionFacts, access: String?, refresh: String?) {
      self.facts = facts
      self.access = access
      self.refresh = refresh
    }

    package var record: SessionRecord {
      SessionRecord(
        facts: facts,
        pair: TokenPair(access: Dummy.secret(access), refresh: Dummy.secret(refresh)))
    }
  }

  /// Which session's tips are taken: the tip store's own word, moved before the session's.
  package struct TipFence: Hashable, Sendable {
    package var generation: Generation = .none
    package var session: SessionID?
  }

  /// Tokens that wait to be revoked.
  package struct Entry: Hashable, Sendable {
    package var id: Int64
    package var row: Row
    package var addedAt: WallTime
    package var tries = 0
  }

  package private(set) var generation: Generation = .none
  /// The session's key: a row without it is as good as gone.
  package private(set) var key: SessionID?
  /// The generation that a logout moved to whose key is gone and whose rows are not.
  private var goneKey: Generation?
  private var sealed: Row?
  package private(set) var intent: RefreshIntent?
  package private(set) var backoff: BackoffRecord?
  package private(set) var reason: String?
  package private(set) var fence = TipFence()
  package private(set) var tips: [TipKey: CachedTip] = [:]
  package private(set) var spent: Set<Fingerprint> = []
  package private(set) var outbox: [Entry] = []
  private var lastEntry: Int64 = 0
  /// Logouts that could not be made durable; outlives the process, not the machine.
  private var tombstones: [SessionID: Generation] = [:]

  package init() {}

  /// The session that a restart finds.
  package var row: Row? {
    guard let sealed, sealed.facts.id == key else { return nil }
    return sealed
  }

  // MARK: Sign-in

  /// The steps of an install, one after the other.
  package mutating func install(_ row: Row) throws(StoreError) {
    try checkNew(row.facts.generation)
    moveFence(to: row.facts.generation, row.facts.id)
    try commitInstall(row, revoking: nil, at: row.facts.signedInAt)
  }

  package func checkNew(_ generation: Generation) throws(StoreError) {
    guard generation > self.generation else { throw .generationMoved(stored: self.generation) }
  }

  /// The new session's row and, in the same transaction, the old one's tokens for the outbox.
  package mutating func commitInstall(
    _ row: Row, revoking old: Row?, at time: WallTime
  ) throws(StoreError) {
    try checkNew(row.facts.generation)
    clear(for: row.facts.generation)
    key = row.facts.id
    sealed = row
    if let old { queue(old, at: time) }
  }

  private mutating func clear(for generation: Generation) {
    self.generation = generation
    (key, goneKey, sealed, intent, backoff, reason) = (nil, nil, nil, nil, nil, nil)
  }

  // MARK: Refresh

  package mutating func recordIntent(
    _ intent: RefreshIntent, for generation: Generation, _ session: SessionID
  ) throws(StoreError) {
    try compare(generation, session)
    self.intent = intent
  }

  package mutating func commit(
    _ row: Row, for generation: Generation, _ session: SessionID
  ) throws(StoreError) {
    try compare(generation, session)
    if let old = sealed?.refresh, old != row.refresh { spent.insert(Dummy.fingerprint(of: old)) }
    if let new = row.refresh { spent.remove(Dummy.fingerprint(of: new)) }
    sealed = row
    intent = nil
    backoff = nil
  }

  package mutating func recordFailure(
    _ backoff: BackoffRecord, _ intent: RefreshIntent?, for generation: Generation,
    _ session: SessionID
  ) throws(StoreError) {
    try compare(generation, session)
    self.backoff = backoff
    self.intent = intent
  }

  // MARK: The end of a session

  /// The first step of a destruction: without its key the row cannot be opened.
  package mutating func destroyKey(through generation: Generation) {
    guard generation > self.generation else { return }
    key = nil
    goneKey = generation
  }

  /// The other two: the tips' fence, then the rows.
  package mutating func destroyRows(through generation: Generation, reason: String) {
    guard generation > self.generation else { return }
    moveFence(to: generation, nil)
    deleteRows(through: generation, reason: reason, revoking: nil, at: WallTime(milliseconds: 0))
  }

  package mutating func deleteRows(
    through generation: Generation, reason: String, revoking old: Row?, at time: WallTime
  ) {
    guard generation > self.generation else { return }
    clear(for: generation)
    self.reason = reason
    tombstones = [:]
    if let old { queue(old, at: time) }
  }

  package mutating func leaveTombstone(of session: SessionID, through generation: Generation) {
    tombstones[session] = generation
  }

  /// What opening the store finishes: a row whose key is gone, or of whose logout a tombstone tells,
  /// is a logout that was cut short.
  package mutating func recover() {
    guard let sealed else { return }
    if let moved = tombstones[sealed.facts.id] { destroyKey(through: moved) }
    guard row == nil else { return }
    destroyRows(
      through: max(generation.next, goneKey ?? .none), reason: "a logout was finished at start")
  }

  // MARK: Tips

  /// From now on only this session's tips are taken, and all others are gone.
  package mutating func moveFence(to generation: Generation, _ session: SessionID?) {
    fence = TipFence(generation: generation, session: session)
    tips = tips.filter { $0.value.session == session && $0.value.generation == generation }
  }

  /// As the tip store is opened for a session.
  package mutating func tips(
    of session: SessionID, _ generation: Generation
  ) throws(StoreError) -> [CachedTip] {
    try compare(generation, session)
    moveFence(to: generation, session)
    return tips.values.sorted { $0.fetchedAt > $1.fetchedAt }
  }

  package mutating func put(
    _ tip: CachedTip, for generation: Generation, _ session: SessionID
  ) throws(StoreError) {
    guard fence.generation == generation, fence.session == session else {
      throw .generationMoved(stored: fence.generation)
    }
    guard tip.generation == generation, tip.session == session else {
      throw .failed("a tip of another session than its permit's")
    }
    tips[tip.key] = tip
  }

  // MARK: Revocation

  package mutating func queue(_ row: Row, at time: WallTime) {
    lastEntry += 1
    outbox.append(Entry(id: lastEntry, row: row, addedAt: time))
  }

  package mutating func countTry(of id: Int64) {
    for index in outbox.indices where outbox[index].id == id { outbox[index].tries += 1 }
  }

  package mutating func removeEntry(_ id: Int64) { outbox.removeAll { $0.id == id } }

  package mutating func forgetEntries() { outbox = [] }

  private func compare(_ generation: Generation, _ session: SessionID) throws(StoreError) {
    guard generation == self.generation, key == session else {
      throw .generationMoved(stored: self.generation)
    }
  }
}

extension MemoryDisk {
  package static func row(of record: consuming SessionRecord) -> Row {
    Row(
      facts: record.facts, access: Dummy.text(record.pair.access),
      refresh: Dummy.text(record.pair.refresh))
  }

  package static func row(ifAny record: consuming SessionRecord?) -> Row? {
    switch consume record {
    case .some(let record): row(of: record)
    case .none: nil
    }
  }

  /// As `SessionStore.load` answers.
  package func loaded(isCopied: Bool = false) -> LoadedSession {
    LoadedSession(
      generation: generation, record: row?.record, intent: intent, backoff: backoff, reason: reason,
      isCopied: isCopied && row != nil)
  }

  /// As `SessionStore.inspect` answers.
  package func persisted() -> PersistedSession {
    PersistedSession(
      generation: generation, facts: row?.facts,
      accessToken: row?.access.map(Dummy.fingerprint(of:)),
      refreshToken: row?.refresh.map(Dummy.fingerprint(of:)), intent: intent, backoff: backoff,
      signedOutReason: reason, path: "memory", schemaVersion: 1, sizeBytes: 0, walSizeBytes: 0,
      cachedTips: tips.count, encryption: "none", integrity: "ok")
  }
}

/// Tokens that are none: their text may be read.
package enum Dummy {
  package static func secret(_ text: String?) -> Secret? {
    guard let text else { return nil }
    return try? Secret(copying: Array(text.utf8))
  }

  package static func text(_ secret: borrowing Secret?) -> String? {
    switch secret {
    case .some(let secret): text(secret)
    case .none: nil
    }
  }

  package static func text(_ secret: borrowing Secret) -> String {
    secret.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  package static func fingerprint(of text: String) -> Fingerprint {
    Fingerprint(text: prefix + text)
  }

  package static func text(of fingerprint: Fingerprint) -> String {
    String(fingerprint.text.dropFirst(prefix.count))
  }

  private static let prefix = "fp:"
}
