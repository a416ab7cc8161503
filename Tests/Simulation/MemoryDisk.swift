import Execution
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
  }

  package private(set) var generation: Generation = .none
  /// The session's key: a row without it is as good as gone.
  package private(set) var key: SessionID?
  private var sealed: Row?
  package private(set) var intent: RefreshIntent?
  package private(set) var backoff: BackoffRecord?
  package private(set) var reason: String?
  package private(set) var tips: [TipKey: CachedTip] = [:]

  package init() {}

  /// The session that a restart finds.
  package var row: Row? {
    guard let sealed, sealed.facts.id == key else { return nil }
    return sealed
  }

  package mutating func install(_ row: Row) throws(StoreError) {
    guard row.facts.generation > generation else {
      throw .generationMoved(stored: generation)
    }
    self = MemoryDisk()
    generation = row.facts.generation
    key = row.facts.id
    sealed = row
  }

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

  /// The first step of a destruction: without its key the row cannot be opened.
  package mutating func destroyKey(through generation: Generation) {
    guard generation > self.generation else { return }
    key = nil
  }

  package mutating func destroyRows(through generation: Generation, reason: String) {
    guard generation > self.generation else { return }
    self = MemoryDisk()
    self.generation = generation
    self.reason = reason
  }

  /// What opening the store finishes: a row whose key is gone is a logout that was cut short.
  package mutating func recover() {
    guard sealed != nil, row == nil else { return }
    destroyRows(through: generation.next, reason: "a logout was finished at start")
  }

  package mutating func tips(of session: SessionID, _ generation: Generation) -> [CachedTip] {
    tips = tips.filter { $0.value.session == session && $0.value.generation == generation }
    return tips.values.sorted { $0.fetchedAt > $1.fetchedAt }
  }

  package mutating func put(
    _ tip: CachedTip, for generation: Generation, _ session: SessionID
  ) throws(StoreError) {
    try compare(generation, session)
    guard tip.generation == generation, tip.session == session else {
      throw .failed("a tip of another session than its permit's")
    }
    tips[tip.key] = tip
  }

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

  /// As `SessionStore.load` answers.
  package func loaded() -> LoadedSession {
    let record: SessionRecord?
    if let row {
      record = SessionRecord(
        facts: row.facts,
        pair: TokenPair(access: Dummy.secret(row.access), refresh: Dummy.secret(row.refresh)))
    } else {
      record = nil
    }
    return LoadedSession(
      generation: generation, record: record, intent: intent, backoff: backoff, reason: reason)
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
    Fingerprint(text: "fp:" + text)
  }
}
