import Execution
import Platform
import Secrets
import Session
import Tips

/// A store that keeps dummies in memory, for tests that are about the upstream. It compares
/// generations as the real one does, and outlives its coordinator: a restart is another coordinator
/// over the same store.
final class MemoryStore: SessionStore, TipStore {
  struct State: Sendable {
    var generation = Generation.none
    var facts: SessionFacts?
    var access: String?
    var refresh: String?
    var intent: RefreshIntent?
    var backoff: BackoffRecord?
    var reason: String?
    var tips: [TipKey: CachedTip] = [:]
    /// How earlier sessions ended; it survives them.
    var lives: [SessionLife] = []
  }

  private let state = Locked(State())

  /// What a restart would find.
  var disk: State { state.withLock { $0 } }

  private func write(
    _ generation: Generation, _ change: (inout State) -> Void
  ) throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      guard state.generation == generation else {
        throw StoreError.generationMoved(stored: state.generation)
      }
      change(&state)
    }
  }

  private static func text(_ secret: borrowing Secret?) -> String? {
    switch secret {
    case .some(let secret): secret.withBytes { String(decoding: $0, as: UTF8.self) }
    case .none: nil
    }
  }

  private static func secret(_ text: String?) throws(StoreError) -> Secret? {
    guard let text else { return nil }
    do throws(SecretError) {
      return try Secret(copying: Array(text.utf8))
    } catch {
      throw .failed("no locked memory")
    }
  }

  func load() async throws(StoreError) -> LoadedSession {
    let disk = disk
    guard let facts = disk.facts else {
      return LoadedSession(
        generation: disk.generation, record: nil, reason: disk.reason,
        lives: disk.lives)
    }
    let pair = TokenPair(
      access: try Self.secret(disk.access), refresh: try Self.secret(disk.refresh))
    return LoadedSession(
      generation: disk.generation, record: SessionRecord(facts: facts, pair: pair),
      intent: disk.intent, backoff: disk.backoff, lives: disk.lives)
  }

  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) async throws(StoreError) {
    let facts = record.facts
    let (access, refresh) = (Self.text(record.pair.access), Self.text(record.pair.refresh))
    state.withLock { state in
      state = State(
        generation: facts.generation, facts: facts, access: access, refresh: refresh,
        lives: state.lives)
    }
  }

  func recordIntent(
    _ intent: RefreshIntent, permit: consuming WritePermit
  ) async throws(StoreError) {
    try write(permit.generation) { $0.intent = intent }
  }

  func commit(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) async throws(StoreError) {
    let facts = record.facts
    let (access, refresh) = (Self.text(record.pair.access), Self.text(record.pair.refresh))
    try write(permit.generation) { state in
      state.facts = facts
      state.access = access
      state.refresh = refresh
      state.intent = nil
      state.backoff = nil
    }
  }

  func recordFailure(
    _ backoff: BackoffRecord, intent: RefreshIntent?, permit: consuming WritePermit
  ) async throws(StoreError) {
    try write(permit.generation) { state in
      state.backoff = backoff
      state.intent = intent
    }
  }

  func destroy(through generation: Generation, reason: String) async throws(StoreError) {
    state.withLock { state in
      guard state.generation < generation else { return }
      state = State(generation: generation, reason: reason, lives: state.lives)
    }
  }

  func recordLife(_ life: SessionLife) async throws(StoreError) {
    state.withLock { $0.lives.append(life) }
  }

  func inspect() async throws(StoreError) -> PersistedSession { throw .failed("not asked here") }

  func fingerprint(of token: borrowing Secret) -> Fingerprint {
    Fingerprint(text: token.withBytes { String(decoding: $0, as: UTF8.self) })
  }

  func close() async {}

  func load(session: SessionID, generation: Generation) async throws(StoreError) -> [CachedTip] {
    disk.tips.values.filter { $0.session == session && $0.generation == generation }
  }

  func stored(
    _ key: TipKey, session: SessionID, generation: Generation
  ) async throws(StoreError) -> CachedTip? {
    disk.tips[key].flatMap { $0.session == session && $0.generation == generation ? $0 : nil }
  }

  func put(_ tip: CachedTip, permit: consuming WritePermit) async throws(StoreError) {
    try write(permit.generation) { $0.tips[tip.key] = tip }
  }

  func remove(_ key: TipKey, permit: consuming WritePermit) async throws(StoreError) {
    try write(permit.generation) { $0.tips[key] = nil }
  }

  func prune(keep: Int) async throws(StoreError) {}
}
