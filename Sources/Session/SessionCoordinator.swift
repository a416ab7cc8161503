package import Execution
package import Secrets

/// The present access token, for one request. It names the token, so that a caller whose request
/// is rejected can say which one it was (I1).
package struct AccessCredential: ~Copyable, Sendable {
  package let version: TokenVersion
  package let session: SessionID
  /// Whether the caller's one refresh went into getting it (I3).
  package let refreshed: Bool
  let token: Secret

  /// The token, for the header of one try.
  package consuming func takeToken() -> Secret { token }
}

/// Keeps the session: who may refresh and when, what a logout ends, what reaches the store. The
/// decisions are ``SessionMachine``'s; this actor holds the tokens, the waiters and the one flight,
/// and carries decisions out. Everything that it knows before an `await` is asked anew after it.
///
/// Guards I1, I2, I4, I5, I7, I8 and I11.
package actor SessionCoordinator {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  let ground: any Ground
  package nonisolated let store: any SessionStore
  let endpoint: any TokenEndpoint
  let entropy: Entropy
  let report: @Sendable (SessionEvent) -> Void

  var machine: SessionMachine { didSet { gate.set(isAvailable) } }
  package nonisolated let gate = SessionGate()
  var pair = TokenPair(access: nil, refresh: nil)
  package internal(set) var counters = SessionCounters()
  /// The flight's task, and the same of flights whose generation has gone: their exchange may still
  /// be open, and is ended before another one starts.
  var flightTask: Task<Void, Never>?
  var orphans: [UInt64: Task<Void, Never>] = [:]
  var waiters: [UInt64: RefreshWaiter] = [:]
  var joiners: [UInt64: RefreshJoiners] = [:]
  var nextWaiter: UInt64 = 0
  var renewalTimer: TimerID?
  var observers: [@Sendable (Boundary) -> Void] = []
  /// The newest pair is in memory only; it is written as soon as the store takes it.
  var isDurable = true
  /// A logout that the store has not followed yet, with the reason for the last failure.
  var destruction: Destruction?
  /// The end of a session that has not been told of yet.
  var untoldEnd: SessionEvent?
  var destructionWaiters: [UInt64: DestructionWaiter] = [:]
  var destructionTimer: TimerID?
  /// How many new sessions are on their way into the store.
  var installs = 0
  var isStopping = false { didSet { gate.set(isAvailable) } }
  /// Since when the flight in the slot is under way.
  var flightStarted: Instant?
  /// Pairs that the store is writing now.
  var pairsBeingStored = 0

  /// The record that a destruction under way hands to the outbox: a secret cannot be captured by a
  /// task.
  var ending: SessionRecord?
  /// Abandoned flights whose late pair may go to the outbox.
  var revocable: Set<UInt64> = []
  let outbox: (any RevocationOutbox)?
  var revocationObservers: [@Sendable () -> Void] = []
  var loginObservers: [@Sendable () -> Void] = []
  /// What the store said last of itself.
  package internal(set) var storeHealth = StoreHealth()
  var healthTimer: TimerID?
  /// How earlier sessions ended, oldest first.
  var lives: [SessionLife] = []

  package init(
    ground: any Ground, store: any SessionStore, endpoint: any TokenEndpoint,
    outbox: (any RevocationOutbox)? = nil, policy: SessionPolicy, entropy: Entropy = .system,
    report: @escaping @Sendable (SessionEvent) -> Void = { _ in }
  ) {
    self.ground = ground
    self.store = store
    self.endpoint = endpoint
    self.outbox = outbox
    self.entropy = entropy
    self.report = report
    machine = SessionMachine(policy: policy)
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  /// Registers who is told of boundaries; before `start`.
  package func observe(_ observer: @escaping @Sendable (Boundary) -> Void) {
    observers.append(observer)
  }

  /// Registers who is told that the outbox has something new; before `start`.
  package func observeRevocations(_ observer: @escaping @Sendable () -> Void) {
    revocationObservers.append(observer)
  }

  /// Registers who is told that a logout ends a sign-in under way, session or none; before `start`.
  package func observeLogouts(_ observer: @escaping @Sendable () -> Void) {
    loginObservers.append(observer)
  }

  func announceRevocation() {
    for observer in revocationObservers { observer() }
  }

  func announceCancelledLogins() {
    for observer in loginObservers { observer() }
  }

  /// Takes up the stored session. Nothing goes upstream here: a refresh that is due is left to the
  /// timer.
  package func start() async throws(StoreError) {
    var loaded = try await store.load()
    lives = loaded.lives
    let facts: SessionFacts?
    if let record = loaded.record.take() {
      facts = record.facts
      pair = record.pair
    } else {
      facts = nil
    }
    machine.restore(
      generation: loaded.generation, facts: facts, hasAccess: pair.access != nil,
      hasRefresh: pair.refresh != nil, binding: endpoint.binding, reason: loaded.reason,
      now: ground.now, wallTime: ground.wallTime)
    if loaded.isCopied { machine.suspendCopy() }
    machine.restore(
      backoff: loaded.backoff, intent: loaded.intent, now: ground.now, wallTime: ground.wallTime)
    if case .suspended(let reason) = machine.phase {
      report(SessionEvent(.suspended, generation: machine.generation, detail: reason))
    }
    scheduleRenewal()
  }

  package var generation: Generation { machine.generation }

  /// Why nothing can be sent now, if so.
  package var unavailable: SessionError? {
    isStopping ? .stopping : machine.unavailable
  }

  /// Whether ``unavailable`` is nil.
  private var isAvailable: Bool { !isStopping && machine.isAvailable }

  /// What a caller of an older generation is answered.
  package var outdated: SessionError { machine.signedOutError }

  /// The id of the session whose generation this is, if it is still the present one.
  package func session(of generation: Generation) -> SessionID? {
    generation == machine.generation ? machine.facts?.id : nil
  }

  /// Leave to store a tip that was fetched under `generation`; nil once that has passed (I4, I6).
  package func permit(for generation: Generation) -> WritePermit? {
    guard generation == machine.generation, let facts = machine.facts else { return nil }
    return WritePermit(mintedFor: generation, session: facts.id)
  }

  func permit(for flight: RefreshFlight) -> WritePermit {
    WritePermit(mintedFor: flight.generation, session: flight.session)
  }

  func permit(for facts: SessionFacts) -> WritePermit {
    WritePermit(mintedFor: facts.generation, session: facts.id)
  }

  func announce(_ boundary: Boundary) {
    for observer in observers { observer(boundary) }
  }

  package func snapshot() -> SessionSnapshot {
    let held = machine.backoff.holding(at: ground.now) != nil
    return SessionSnapshot(
      phase: machine.phase,
      activity: machine.flight != nil ? .refreshing : held ? .backingOff : .idle,
      generation: machine.generation, durable: isDurable && destruction == nil,
      facts: machine.facts, accessToken: fingerprint(of: pair.access),
      refreshToken: fingerprint(of: pair.refresh),
      lastRefreshError: machine.backoff.failures > 0 || held ? machine.backoff.reason : nil,
      nextRefreshAt: nextRefresh.map {
        ground.wallTime.advanced(by: ground.now.duration(to: $0))
      }, loginForecast: forecast(of: machine.facts, hasRefreshToken: machine.hasRefreshToken))
  }

  private var nextRefresh: Instant? {
    guard renewalTimer != nil, let next = machine.renewalTime(jitter: 0) else { return nil }
    return max(next, ground.now)
  }

  nonisolated func fingerprint(of token: borrowing Secret?) -> Fingerprint? {
    switch token {
    case .some(let secret): store.fingerprint(of: secret)
    case .none: nil
    }
  }
}
