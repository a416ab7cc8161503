import Execution
import Secrets
import Session
import Tips

/// The store in a lane of its own. Each call is one step there, as each is one transaction on the
/// store's thread; a step may fail, and where the real store takes several the process may be killed
/// between them.
actor SimulatedStore: SessionStore, TipStore, RevocationOutbox {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let run: Run
  private let incarnation: Int
  private var isClosed = false
  /// A logout whose key is gone but whose rows are not.
  private var unfinished: (generation: Generation, reason: String, old: MemoryDisk.Row?)?

  init(run: Run, lane: Lane, incarnation: Int) {
    self.run = run
    self.incarnation = incarnation
    unownedExecutor = lane.asUnownedSerialExecutor()
  }

  private func perform<R>(
    _ what: String, mayFail: Bool = true,
    _ body: (inout MemoryDisk) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    guard run.isAlive(incarnation), !isClosed else { throw .closed }
    if mayFail, run.takeStoreFault(what) { throw .full }
    let result = try body(&run.disk)
    run.say("  store: \(what)")
    run.ledger.storeChanged(run.disk)
    return result
  }

  /// Between two steps of one call.
  private func mayBeKilled(_ place: String) throws(StoreError) {
    guard run.mayCrash, !run.world.isOnSQLite,
      run.choose(2, lane: 1, "  store: killed \(place)") == 1
    else { return }
    run.crashAfterThisStep()
    throw .closed
  }

  // MARK: SessionStore

  func load() throws(StoreError) -> LoadedSession {
    let disk = try perform("load", mayFail: false) { $0 }
    return disk.loaded(isCopied: run.isCopied && !run.isAdopted)
  }

  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) throws(StoreError) {
    try replace(with: MemoryDisk.row(of: record), permit.generation, revoking: nil)
  }

  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit,
    revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool {
    let before = MemoryDisk.row(ifAny: old)
    try replace(with: MemoryDisk.row(of: record), permit.generation, revoking: before)
    return before != nil
  }

  private func replace(
    with row: MemoryDisk.Row, _ generation: Generation, revoking old: MemoryDisk.Row?
  ) throws(StoreError) {
    try? finishLogout()
    let fence = run.disk.fence
    try perform("the tips' fence", mayFail: false) { (disk) throws(StoreError) in
      try disk.checkNew(row.facts.generation)
      disk.moveFence(to: row.facts.generation, row.facts.id)
    }
    try mayBeKilled("between the tips' fence and the session")
    do throws(StoreError) {
      let now = run.scheduler.wallTime
      try perform("install \(row.access ?? "-")") { (disk) throws(StoreError) in
        try disk.commitInstall(row, revoking: old, at: now)
      }
    } catch {
      try perform("the tips' fence goes back", mayFail: false) {
        $0.moveFence(to: fence.generation, fence.session)
      }
      throw error
    }
    unfinished = nil
    run.ledger.wrote("a session", for: generation, run.disk)
  }

  func recordIntent(
    _ intent: RefreshIntent, permit: consuming WritePermit
  ) throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    try perform("intent") { (disk) throws(StoreError) in
      try disk.recordIntent(intent, for: generation, session)
    }
    run.ledger.wrote("an intent", for: generation, run.disk)
  }

  func commit(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    let row = MemoryDisk.row(of: record)
    try perform("commit \(row.access ?? "-")") { (disk) throws(StoreError) in
      try disk.commit(row, for: generation, session)
    }
    run.ledger.wrote("a pair", for: generation, run.disk)
  }

  func recordFailure(
    _ backoff: BackoffRecord, intent: RefreshIntent?, permit: consuming WritePermit
  ) throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    try perform("backoff") { (disk) throws(StoreError) in
      try disk.recordFailure(backoff, intent, for: generation, session)
    }
    run.ledger.wrote("a backoff", for: generation, run.disk)
  }

  func destroy(through generation: Generation, reason: String) throws(StoreError) {
    _ = try end(through: generation, reason, revoking: nil)
  }

  func destroy(
    through generation: Generation, reason: String, revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool {
    try end(through: generation, reason, revoking: MemoryDisk.row(ifAny: old))
  }

  private func end(
    through generation: Generation, _ reason: String, revoking old: MemoryDisk.Row?
  ) throws(StoreError) -> Bool {
    if run.disk.generation >= generation { return false }
    try perform("destroy the key") { $0.destroyKey(through: generation) }
    try mayBeKilled("between key and tips")
    unfinished = (generation, reason, old)
    do throws(StoreError) {
      try finishLogout()
      return old != nil
    } catch {
      if case .closed = error { throw error }
      return false
    }
  }

  private func finishLogout() throws(StoreError) {
    guard let due = unfinished else { return }
    try perform("the tips' fence", mayFail: false) { $0.moveFence(to: due.generation, nil) }
    try mayBeKilled("between tips and rows")
    let now = run.scheduler.wallTime
    try perform("destroy the rows") {
      $0.deleteRows(through: due.generation, reason: due.reason, revoking: due.old, at: now)
    }
    unfinished = nil
  }

  func settle() async -> StoreHealth {
    let isWell = unfinished == nil
    try? finishLogout()
    return StoreHealth(unfinishedLogout: isWell || unfinished == nil ? nil : "rows are left")
  }

  nonisolated func leaveTombstone(
    of session: SessionID, through generation: Generation
  ) throws(StoreError) {
    guard run.isAlive(incarnation) else { throw .closed }
    run.disk.leaveTombstone(of: session, through: generation)
  }

  func adoptMachine(permit: consuming WritePermit) async throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    try perform("adopt", mayFail: false) { (disk) throws(StoreError) in
      guard disk.generation == generation, disk.row?.facts.id == session else {
        throw .generationMoved(stored: disk.generation)
      }
    }
    run.isAdopted = true
  }

  func isSpent(_ token: Fingerprint) async throws(StoreError) -> Bool {
    try perform("spent?", mayFail: false) { $0.spent.contains(token) }
  }

  func inspect() throws(StoreError) -> PersistedSession { run.disk.persisted() }

  nonisolated func fingerprint(of token: borrowing Secret) -> Fingerprint {
    Dummy.fingerprint(of: Dummy.text(token))
  }

  func close() { isClosed = true }

  // MARK: TipStore

  func load(session: SessionID, generation: Generation) throws(StoreError) -> [CachedTip] {
    try perform("load tips", mayFail: false) { (disk) throws(StoreError) in
      try disk.tips(of: session, generation)
    }
  }

  func stored(
    _ key: TipKey, session: SessionID, generation: Generation
  ) throws(StoreError) -> CachedTip? {
    try perform("load a tip", mayFail: false) { (disk) throws(StoreError) in
      try disk.tips(of: session, generation).first { $0.key == key }
    }
  }

  func put(_ tip: CachedTip, permit: consuming WritePermit) throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    try perform("put a tip", mayFail: false) { (disk) throws(StoreError) in
      try disk.put(tip, for: generation, session)
    }
  }

  func prune(keep: Int) {}

  // MARK: RevocationOutbox

  func add(_ record: consuming SessionRecord) throws(StoreError) {
    let row = MemoryDisk.row(of: record)
    let now = run.scheduler.wallTime
    try perform("queue \(row.refresh ?? "-") for revocation") { $0.queue(row, at: now) }
  }

  func pending() throws(StoreError) -> [PendingRevocation] {
    try perform("what is to be revoked?", mayFail: false) { disk in
      disk.outbox.map {
        PendingRevocation(
          id: $0.id, session: $0.row.facts.id, binding: $0.row.facts.binding,
          addedAt: $0.addedAt, tries: $0.tries)
      }
    }
  }

  func tokens(of id: Int64) throws(StoreError) -> TokenPair? {
    guard run.isAlive(incarnation), !isClosed else { throw .closed }
    guard let entry = run.disk.outbox.first(where: { $0.id == id }) else { return nil }
    return TokenPair(
      access: Dummy.secret(entry.row.access), refresh: Dummy.secret(entry.row.refresh))
  }

  func recordTry(of id: Int64) throws(StoreError) {
    try perform("one more try", mayFail: false) { $0.countTry(of: id) }
  }

  func remove(_ id: Int64) throws(StoreError) {
    try perform("revoked", mayFail: false) { $0.removeEntry(id) }
  }

  func forgetAll() throws(StoreError) {
    if let due = unfinished { unfinished = (due.generation, due.reason, nil) }
    try perform("forget the outbox", mayFail: false) { $0.forgetEntries() }
  }
}
