import Execution
import Secrets
import Session
import Store
import Tips

/// The real store beside the one in memory, on the same lane: whatever is asked of one is asked of the
/// other, and they must agree. The one in memory tells the ledger.
actor DoubleStore: SessionStore, TipStore, RevocationOutbox {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let run: Run
  private let incarnation: Int
  private let memory: SimulatedStore
  private let real: SQLiteSessionStore
  private let tips: SQLiteTipStore

  init(run: Run, lane: Lane, incarnation: Int, directory: String) throws(StoreOpenError) {
    self.run = run
    self.incarnation = incarnation
    memory = SimulatedStore(run: run, lane: lane, incarnation: incarnation)
    let scheduler = run.scheduler
    let opened = try SQLiteSessionStore.open(
      StoreConfiguration(
        directory: directory + "/state", runtimeDirectory: directory,
        machineIDPath: directory + "/machine-id", clock: { scheduler.wallTime }),
      on: lane)
    real = opened.sessions
    tips = opened.tips
    unownedExecutor = lane.asUnownedSerialExecutor()
  }

  /// What the rules of the ports, in memory, say of a step, and what the real store made of it.
  private func agree(_ what: String, _ expected: StoreError?, _ actual: StoreError?) {
    switch (expected, actual) {
    case (nil, nil), (.closed, _), (.generationMoved, .generationMoved): return
    default: break
    }
    let words = { (error: StoreError?) in error?.reason ?? "is done" }
    run.ledger.violate(
      "I4", "\(what): \(words(actual)), but by the rules it \(words(expected))")
  }

  private func differ(_ what: String, _ isSame: Bool) {
    if !isSame { run.ledger.violate("I9", "\(what) of the real store is not what was written") }
  }

  /// A process that was killed reaches neither; one that has begun reaches both.
  private func begin() throws(StoreError) {
    guard run.isAlive(incarnation) else { throw .closed }
    run.storeOperations += 1
  }

  /// What the one in memory has done, the real one has to do, too.
  @discardableResult
  private func must<Value>(
    _ what: String, _ body: () async throws(StoreError) -> Value
  ) async -> Value? {
    do throws(StoreError) {
      return try await body()
    } catch {
      agree(what, nil, error)
      return nil
    }
  }

  // MARK: SessionStore

  /// What the world begins with.
  func prepare(_ row: MemoryDisk.Row) async throws(StoreError) {
    let facts = row.facts
    try await real.install(
      row.record, permit: WritePermit(mintedFor: facts.generation, session: facts.id))
  }

  func load() async throws(StoreError) -> LoadedSession {
    try begin()
    defer { run.storeOperations -= 1 }
    let expected = try await memory.load()
    let found = try await real.load()
    differ("the generation", found.generation == expected.generation)
    differ("the intent", found.intent == expected.intent)
    differ("the backoff", found.backoff == expected.backoff)
    differ("the session", Self.row(of: found) == Self.row(of: expected))
    return expected
  }

  private static func row(of loaded: borrowing LoadedSession) -> MemoryDisk.Row? {
    switch loaded.record {
    case .some(let record):
      MemoryDisk.Row(
        facts: record.facts, access: Dummy.text(record.pair.access),
        refresh: Dummy.text(record.pair.refresh))
    case .none: nil
    }
  }

  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    _ = try await install(record, permit: permit, revoking: nil)
  }

  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit,
    revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool {
    try begin()
    defer { run.storeOperations -= 1 }
    let (row, ended) = (MemoryDisk.row(of: record), MemoryDisk.row(ifAny: old))
    let (generation, session) = (permit.generation, permit.session)
    var refusal: StoreError?
    var isQueued = false
    do throws(StoreError) {
      isQueued = try await memory.install(
        row.record, permit: WritePermit(mintedFor: generation, session: session),
        revoking: ended?.record)
    } catch {
      refusal = error
    }
    do throws(StoreError) {
      let isReallyQueued = try await real.install(
        row.record, permit: WritePermit(mintedFor: generation, session: session),
        revoking: ended?.record)
      agree("an install", refusal, nil)
      if refusal == nil { differ("the outbox", isQueued == isReallyQueued) }
    } catch {
      agree("an install", refusal, error)
    }
    if let refusal { throw refusal }
    return isQueued
  }

  func recordIntent(
    _ intent: RefreshIntent, permit: consuming WritePermit
  ) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    let (generation, session) = (permit.generation, permit.session)
    var refusal: StoreError?
    do throws(StoreError) {
      try await memory.recordIntent(
        intent, permit: WritePermit(mintedFor: generation, session: session))
    } catch {
      refusal = error
    }
    do throws(StoreError) {
      try await real.recordIntent(
        intent, permit: WritePermit(mintedFor: generation, session: session))
      agree("an intent", refusal, nil)
    } catch {
      agree("an intent", refusal, error)
    }
    if let refusal { throw refusal }
  }

  func commit(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    let row = MemoryDisk.row(of: record)
    let (generation, session) = (permit.generation, permit.session)
    var refusal: StoreError?
    do throws(StoreError) {
      try await memory.commit(
        row.record, permit: WritePermit(mintedFor: generation, session: session))
    } catch {
      refusal = error
    }
    do throws(StoreError) {
      try await real.commit(
        row.record, permit: WritePermit(mintedFor: generation, session: session))
      agree("a commit", refusal, nil)
    } catch {
      agree("a commit", refusal, error)
    }
    if let refusal { throw refusal }
  }

  func recordFailure(
    _ backoff: BackoffRecord, intent: RefreshIntent?, permit: consuming WritePermit
  ) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    let (generation, session) = (permit.generation, permit.session)
    var refusal: StoreError?
    do throws(StoreError) {
      try await memory.recordFailure(
        backoff, intent: intent, permit: WritePermit(mintedFor: generation, session: session))
    } catch {
      refusal = error
    }
    do throws(StoreError) {
      try await real.recordFailure(
        backoff, intent: intent, permit: WritePermit(mintedFor: generation, session: session))
      agree("a backoff", refusal, nil)
    } catch {
      agree("a backoff", refusal, error)
    }
    if let refusal { throw refusal }
  }

  func destroy(through generation: Generation, reason: String) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    _ = try await destroy(through: generation, reason: reason, revoking: nil)
  }

  func destroy(
    through generation: Generation, reason: String, revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool {
    try begin()
    defer { run.storeOperations -= 1 }
    let ended = MemoryDisk.row(ifAny: old)
    let isQueued = try await memory.destroy(
      through: generation, reason: reason, revoking: ended?.record)
    do throws(StoreError) {
      let isReallyQueued = try await real.destroy(
        through: generation, reason: reason, revoking: ended?.record)
      differ("the outbox", isQueued == isReallyQueued)
    } catch {
      agree("a logout", nil, error)
    }
    return isQueued
  }

  func settle() async -> StoreHealth {
    guard run.isAlive(incarnation) else { return StoreHealth(failure: .closed) }
    run.storeOperations += 1
    defer { run.storeOperations -= 1 }
    let health = await real.settle()
    if health.failure != .closed { differ("the health", health == StoreHealth()) }
    return await memory.settle()
  }

  nonisolated func leaveTombstone(
    of session: SessionID, through generation: Generation
  ) throws(StoreError) {
    try memory.leaveTombstone(of: session, through: generation)
    try real.leaveTombstone(of: session, through: generation)
  }

  func isSpent(_ token: Fingerprint) async throws(StoreError) -> Bool {
    try begin()
    defer { run.storeOperations -= 1 }
    let expected = try await memory.isSpent(token)
    if let secret = Dummy.secret(Dummy.text(of: token)) {
      let found = try await real.isSpent(real.fingerprint(of: secret))
      differ("the list of spent tokens", found == expected)
    }
    return expected
  }

  func inspect() async throws(StoreError) -> PersistedSession { try await memory.inspect() }

  nonisolated func fingerprint(of token: borrowing Secret) -> Fingerprint {
    memory.fingerprint(of: token)
  }

  func close() async {
    await memory.close()
    await real.close()
  }

  // MARK: TipStore

  func stored(
    _ key: TipKey, session: SessionID, generation: Generation
  ) async throws(StoreError) -> CachedTip? {
    try begin()
    defer { run.storeOperations -= 1 }
    let expected = try await memory.stored(key, session: session, generation: generation)
    let found = try await tips.stored(key, session: session, generation: generation)
    differ("the stored tip", found?.key == expected?.key)
    return expected
  }

  func load(session: SessionID, generation: Generation) async throws(StoreError) -> [CachedTip] {
    try begin()
    defer { run.storeOperations -= 1 }
    let expected = try await memory.load(session: session, generation: generation)
    let found = await must("a look at the tips") { () async throws(StoreError) in
      try await tips.load(session: session, generation: generation)
    }
    if let found { differ("the tips", Set(found.map(\.key)) == Set(expected.map(\.key))) }
    return expected
  }

  func put(_ tip: CachedTip, permit: consuming WritePermit) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    let (generation, session) = (permit.generation, permit.session)
    var refusal: StoreError?
    do throws(StoreError) {
      try await memory.put(tip, permit: WritePermit(mintedFor: generation, session: session))
    } catch {
      refusal = error
    }
    do throws(StoreError) {
      try await tips.put(tip, permit: WritePermit(mintedFor: generation, session: session))
      agree("a tip", refusal, nil)
    } catch {
      agree("a tip", refusal, error)
    }
    if let refusal { throw refusal }
  }

  func prune(keep: Int) async throws(StoreError) { try await tips.prune(keep: keep) }

  // MARK: RevocationOutbox

  func add(_ record: consuming SessionRecord) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    let row = MemoryDisk.row(of: record)
    try await memory.add(row.record)
    await must("a late pair") { () async throws(StoreError) in try await real.add(row.record) }
  }

  func pending() async throws(StoreError) -> [PendingRevocation] {
    try begin()
    defer { run.storeOperations -= 1 }
    let expected = try await memory.pending()
    let found = try await real.pending()
    differ(
      "the outbox",
      found.map { Pending(id: $0.id, session: $0.session, tries: $0.tries) }
        == expected.map { Pending(id: $0.id, session: $0.session, tries: $0.tries) })
    return expected
  }

  private struct Pending: Equatable {
    let id: Int64
    let session: SessionID
    let tries: Int
  }

  func tokens(of id: Int64) async throws(StoreError) -> TokenPair? {
    try begin()
    defer { run.storeOperations -= 1 }
    guard let expected = try await memory.tokens(of: id) else { return nil }
    let found = try await real.tokens(of: id)
    differ("the outbox", Self.refreshToken(found) == Dummy.text(expected.refresh))
    return expected
  }

  private static func refreshToken(_ pair: borrowing TokenPair?) -> String? {
    switch pair {
    case .some(let pair): Dummy.text(pair.refresh)
    case .none: nil
    }
  }

  func recordTry(of id: Int64) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    try await memory.recordTry(of: id)
    await must("a try") { () async throws(StoreError) in try await real.recordTry(of: id) }
  }

  func remove(_ id: Int64) async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    try await memory.remove(id)
    await must("a removal") { () async throws(StoreError) in try await real.remove(id) }
  }

  func forgetAll() async throws(StoreError) {
    try begin()
    defer { run.storeOperations -= 1 }
    try await memory.forgetAll()
    await must("forgetting") { () async throws(StoreError) in try await real.forgetAll() }
  }

  // MARK: Writes that must not be

  /// Writes with the permits of every session but the present one, each under its own generation and
  /// under the present one. Both stores refuse all of it (I4).
  func intrude() async {
    guard let ended = run.ended, run.disk.row?.facts.id != ended.facts.id else { return }
    for generation in [ended.facts.generation, run.disk.generation] {
      var row = ended
      row.facts.generation = generation
      let intent = RefreshIntent(
        token: Dummy.fingerprint(of: "A.r0"), startedAt: run.scheduler.wallTime, tries: 1)
      let backoff = BackoffRecord(
        failures: 1, notBefore: run.scheduler.wallTime, reason: "an intruder's")
      try? await recordIntent(intent, permit: Self.permit(for: row.facts))
      try? await commit(row.record, permit: Self.permit(for: row.facts))
      try? await recordFailure(backoff, intent: nil, permit: Self.permit(for: row.facts))
      try? await install(row.record, permit: Self.permit(for: row.facts))
      if let tip = run.tipOfEnded(generation) {
        try? await put(tip, permit: Self.permit(for: row.facts))
      }
      // A logout that comes behind a newer session leaves that one alone.
      if generation < run.disk.generation {
        try? await destroy(through: generation, reason: "an intruder's")
      }
    }
  }

  private static func permit(for facts: SessionFacts) -> WritePermit {
    WritePermit(mintedFor: facts.generation, session: facts.id)
  }

  // MARK: The end

  /// A kill: the files stay as they are.
  func abandon() { real.assumeIsolated { $0.close() } }

  /// What a restart would find must be what the rules say.
  func checkEnd() {
    let outcome: Result<PersistedSession, StoreError> = real.assumeIsolated { store in
      do throws(StoreError) { return .success(try store.inspect()) } catch {
        return .failure(error)
      }
    }
    do throws(StoreError) {
      let found = try outcome.get()
      let disk = run.disk
      differ("the generation", found.generation == disk.generation)
      differ("the session", found.facts == disk.row?.facts)
      differ("the access token", found.accessToken == fingerprint(ofText: disk.row?.access))
      differ("the refresh token", found.refreshToken == fingerprint(ofText: disk.row?.refresh))
      differ("the number of tips", found.cachedTips == disk.tips.count)
    } catch {
      if error != .closed { agree("an inspection", nil, error) }
    }
  }

  private func fingerprint(ofText text: String?) -> Fingerprint? {
    guard let secret = Dummy.secret(text) else { return nil }
    return real.fingerprint(of: secret)
  }
}
