import Execution
import Platform
import Secrets
import Session
import Simulation
import Tips

/// Both stores, in memory, with the real rules, and with a hold or a failure at each step.
final class ScriptedStore: SessionStore, TipStore {
  enum Step: Hashable, Sendable {
    case load, install, intent, commit, failure, destroy, tips, put, spent, inspect
  }

  enum Moment: Hashable, Sendable {
    /// Before the step is carried out.
    case before
    /// When it is on disk and its caller does not know yet.
    case after
  }

  private struct Place: Hashable {
    let step: Step
    let moment: Moment
  }

  private struct State {
    var disk = MemoryDisk()
    var gates: [Place: Latch] = [:]
    var failures: [Step: [StoreError]] = [:]
    var isClosed = false
    var isCopied = false
    var health: [StoreHealth] = []
    var healthAsked = 0
  }

  private let state = Locked(State())
  private let note: @Sendable (String) -> Void

  init(note: @escaping @Sendable (String) -> Void) {
    self.note = note
  }

  var disk: MemoryDisk { state.withLock { $0.disk } }

  /// Puts what an earlier run left in place.
  func prepare(_ body: (inout MemoryDisk) throws -> Void) rethrows {
    try state.withLock { try body(&$0.disk) }
  }

  /// As if the directory had come from another machine.
  func becomeCopy() { state.withLock { $0.isCopied = true } }

  func adoptMachine(permit: consuming WritePermit) async throws(StoreError) {
    state.withLock { $0.isCopied = false }
  }

  /// What it says of itself when it is asked next; beyond that it is well.
  func say(_ health: StoreHealth...) { state.withLock { $0.health += health } }

  /// How often it was asked how it does.
  var healthAsked: Int { state.withLock { $0.healthAsked } }

  func settle() async -> StoreHealth {
    state.withLock { state in
      state.healthAsked += 1
      return state.health.isEmpty ? StoreHealth() : state.health.removeFirst()
    }
  }

  func leaveTombstone(of session: SessionID, through generation: Generation) throws(StoreError) {
    state.withLock { $0.disk.leaveTombstone(of: session, through: generation) }
  }

  /// Holds the next such step, once, until the gate is opened.
  func hold(_ moment: Moment, _ step: Step) -> Latch {
    let gate = Latch()
    state.withLock { $0.gates[Place(step: step, moment: moment)] = gate }
    return gate
  }

  /// Lets the next such steps fail.
  func fail(_ step: Step, _ errors: StoreError...) {
    state.withLock { $0.failures[step, default: []] += errors }
  }

  private func perform<R: Sendable>(
    _ step: Step, _ body: @Sendable (inout MemoryDisk) throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    await pass(.before, step)
    let result: R = try state.withLock { (state) throws(StoreError) in
      if state.isClosed { throw StoreError.closed }
      if var queue = state.failures[step], !queue.isEmpty {
        let error = queue.removeFirst()
        state.failures[step] = queue
        throw error
      }
      return try body(&state.disk)
    }
    note("\(step)")
    await pass(.after, step)
    return result
  }

  private func pass(_ moment: Moment, _ step: Step) async {
    let place = Place(step: step, moment: moment)
    let gate = state.withLock { $0.gates.removeValue(forKey: place) }
    // A store does not notice that whoever asked has been cancelled.
    if let gate { await gate.wait() }
  }

  // MARK: SessionStore

  func load() async throws(StoreError) -> LoadedSession {
    let disk = try await perform(.load) { $0 }
    var loaded = disk.loaded()
    loaded.isCopied = state.withLock { $0.isCopied }
    return loaded
  }

  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) async throws(StoreError) {
    let row = MemoryDisk.row(of: record)
    try await perform(.install) { (disk) throws(StoreError) in try disk.install(row) }
  }

  func recordIntent(
    _ intent: RefreshIntent, permit: consuming WritePermit
  ) async throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    try await perform(.intent) { (disk) throws(StoreError) in
      try disk.recordIntent(intent, for: generation, session)
    }
  }

  func commit(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) async throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    let row = MemoryDisk.row(of: record)
    try await perform(.commit) { (disk) throws(StoreError) in
      try disk.commit(row, for: generation, session)
    }
  }

  func recordFailure(
    _ backoff: BackoffRecord, intent: RefreshIntent?, permit: consuming WritePermit
  ) async throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    try await perform(.failure) { (disk) throws(StoreError) in
      try disk.recordFailure(backoff, intent, for: generation, session)
    }
  }

  func destroy(through generation: Generation, reason: String) async throws(StoreError) {
    try await perform(.destroy) { disk in
      disk.destroyKey(through: generation)
      disk.destroyRows(through: generation, reason: reason)
    }
  }

  func isSpent(_ token: Fingerprint) async throws(StoreError) -> Bool {
    try await perform(.spent) { $0.spent.contains(token) }
  }

  func inspect() async throws(StoreError) -> PersistedSession {
    try await perform(.inspect) { $0.persisted() }
  }

  func fingerprint(of token: borrowing Secret) -> Fingerprint {
    Dummy.fingerprint(of: Dummy.text(token))
  }

  func close() async { state.withLock { $0.isClosed = true } }

  // MARK: TipStore

  func load(session: SessionID, generation: Generation) async throws(StoreError) -> [CachedTip] {
    try await perform(.tips) { (disk) throws(StoreError) in try disk.tips(of: session, generation) }
  }

  func stored(
    _ key: TipKey, session: SessionID, generation: Generation
  ) async throws(StoreError) -> CachedTip? {
    var disk = disk
    return try disk.tips(of: session, generation).first { $0.key == key }
  }

  func put(_ tip: CachedTip, permit: consuming WritePermit) async throws(StoreError) {
    let (generation, session) = (permit.generation, permit.session)
    try await perform(.put) { (disk) throws(StoreError) in
      try disk.put(tip, for: generation, session)
    }
  }

  func prune(keep: Int) async throws(StoreError) {}
}
