import Execution
import FoundationEssentials
import Glibc
import JSON
import Requests
import Session
import Tips

/// One execution of a world under one script: the process and what it is started over.
final class Run: @unchecked Sendable {
  // Unchecked: all of it happens on the thread that turns the scheduler.
  let world: World
  let scheduler: Scheduler
  var disk = MemoryDisk()
  var ledger = Ledger()
  var server = Server()
  var clients: [ClientState] = []
  private(set) var story: [String] = []
  private let keepsStory: Bool

  private(set) var incarnation = 0
  private(set) var isDead = false
  private var first: MemoryDisk.Row?
  private var isCrashDue = false
  /// Calls of the real store that are under way: a kill comes between two of them.
  var storeOperations = 0
  private var crashesLeft: Int
  private var faultsLeft: Int
  var apiFaultsLeft: Int
  private var faultsUntil = Instant.distantFuture
  private(set) var coordinator: SessionCoordinator?
  private(set) var tips: TipService?
  private(set) var requester: ResilientRequester?
  private(set) var revocations: RevocationCoordinator?
  /// The real store, where the world has one, and its directory.
  private(set) var database: DoubleStore?
  private var directory: ScratchPath?
  private var lastID: UInt64 = 1000
  private var entropyCount: UInt64 = 0
  var exchanges: [UInt64: OpenExchange] = [:]
  var requests: [UInt64: OpenRequest] = [:]
  var revoking: [UInt64: CheckedContinuation<RevocationResult, Never>] = [:]

  init(_ world: World, script: Script, keepsStory: Bool = false) {
    self.world = world
    self.keepsStory = keepsStory
    scheduler = Scheduler(script: script)
    crashesLeft = world.crashes
    faultsLeft = world.storeFaults
    apiFaultsLeft = world.apiFaults ?? .max
    if keepsStory { scheduler.narrate = { [unowned self] in say($0) } }
    scheduler.isTracing = keepsStory && getenv("TRACE") != nil
  }

  /// What became of it.
  struct Outcome {
    var violations: [String]
    var isCut: Bool
    /// The answers and what the store holds.
    var end: String
    /// What the store holds.
    var storeEnd: String
    var refreshes: Int
    var choices: [Script.Choice]
    var story: [String]
  }

  private static let horizon = Duration.seconds(120)
  private static let mostSteps = 5_000

  func execute(seen: SeenStates?) -> Outcome {
    prepare()
    boot()
    for client in world.clients { arrive(client) }
    if world.clients.contains(where: \.comesLate) { tick() }
    offerCrash()
    let isCut = turn(seen)
    if !isCut, ledger.violations.isEmpty { checkEnd() }
    let choices = scheduler.script.choices
    let ends = isCut ? ("", "") : (end, storeEnd)
    tearDown()
    directory = nil
    return Outcome(
      violations: ledger.violations, isCut: isCut, end: ends.0, storeEnd: ends.1,
      refreshes: ledger.refreshes, choices: choices, story: story)
  }

  /// Until nothing can happen any more; true: what follows has been explored.
  private func turn(_ seen: SeenStates?) -> Bool {
    let end = scheduler.now.advanced(by: Self.horizon)
    faultsUntil = end
    var horizon = end
    while ledger.violations.isEmpty {
      switch scheduler.turn(horizon: horizon, seen: seen) {
      case .stepped:
        if isCrashDue, storeOperations == 0 { crash() }
        if scheduler.isQuiet { checkThoseWhoLeft() }
      case .idle:
        // What has just begun gets its time to end.
        guard isBusy, horizon < end.advanced(by: Self.horizon) else { return false }
        horizon = horizon.advanced(by: .seconds(7))
      case .seen: return true
      }
      if scheduler.steps > Self.mostSteps {
        ledger.violate("liveness", "the run does not end")
      }
    }
    return false
  }

  func say(_ line: @autoclosure () -> String) {
    if keepsStory { story.append(line()) }
  }

  func nextID() -> UInt64 {
    lastID += 1
    return lastID
  }

  // MARK: The process

  private static let binding = UpstreamBinding(issuer: "i", clientID: "c", apiOrigin: "o")
  private static let other = UpstreamBinding(issuer: "i", clientID: "c", apiOrigin: "elsewhere")

  /// The store has come from another machine, and has been adopted here.
  var isAdopted = false
  /// The store has come from another machine.
  var isCopied: Bool { world.isCopied && incarnation > 0 }

  /// The configuration's.
  var binding: UpstreamBinding {
    world.movesUpstream && incarnation > 0 ? Self.other : Self.binding
  }

  /// Account A is signed in and stored.
  private func prepare() {
    server.admit("A", isStale: world.isStale)
    server.admit("B", isStale: false)
    guard let id = SessionID(bytes: Array(repeating: 0xA, count: 16)) else { return }
    let wall = scheduler.wallTime
    let facts = SessionFacts(
      id: id, generation: Generation(1), binding: Self.binding, account: "A",
      accountVerified: true, signedInAt: wall, scope: nil, accessTokenReceivedAt: wall,
      accessTokenExpiresAt: world.lifetime.map { wall.advanced(by: $0) })
    try? disk.install(
      MemoryDisk.Row(
        facts: facts, access: world.hasAccessToken ? "A.a0" : nil,
        refresh: world.hasRefreshToken ? "A.r0" : nil))
    // An access token alone lives as long as the server takes it.
    ledger.mayEnd = !world.hasRefreshToken
    first = disk.row
    ledger.storeChanged(disk)
    _ = scheduler.makeLane("loop")
    _ = scheduler.makeLane("store")
  }

  var loop: Lane { scheduler.lanes[0] }

  private func boot() {
    let (loop, incarnation) = (loop, incarnation)
    guard let store = openStore() else {
      return ledger.violate("I9", "the store does not open")
    }
    let entropy = Entropy { [self] count in
      entropyCount += 1
      let number = entropyCount
      return (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * ($0 % 8))) }
    }
    var policy = SessionPolicy()
    policy.jitter = 0
    policy.canRevoke = world.revokes
    policy.continuesOnMove = world.continuesOnMove
    let coordinator = SessionCoordinator(
      ground: loop, store: store,
      endpoint: SimulatedEndpoint(run: self, incarnation: incarnation),
      outbox: world.revokes ? store : nil, policy: policy, entropy: entropy
    ) { [unowned self] in note($0, incarnation) }
    let requester = ResilientRequester(
      ground: loop, coordinator: coordinator,
      transport: SimulatedTransport(run: self, incarnation: incarnation), base: "http://api",
      entropy: entropy)
    let tips = TipService(
      ground: loop, coordinator: coordinator, requester: requester, store: store,
      freshness: Freshness(
        defaultLifetime: .seconds(60), staleIfError: .seconds(600), dayZone: .gmt),
      fields: Self.fields, entropy: entropy)
    (self.coordinator, self.requester, self.tips) = (coordinator, requester, tips)
    if world.revokes {
      revocations = RevocationCoordinator(
        ground: loop, coordinator: coordinator, outbox: store,
        revoker: SimulatedRevoker(run: self, incarnation: incarnation)
      ) { [unowned self] in note($0, incarnation) }
    }
    Task(executorPreference: loop) { [revocations, database, disk] in
      if incarnation == 0, let row = disk.row { try? await database?.prepare(row) }
      await requester.follow()
      await tips.follow()
      await revocations?.follow()
      try? await coordinator.start()
      await tips.expectStored()
      await tips.load()
      await revocations?.start()
    }
    // Nothing is served before the start has ended.
    while scheduler.turn(horizon: Instant(nanoseconds: 0), seen: nil) == .stepped {}
  }

  private func openStore() -> (any SessionStore & TipStore & RevocationOutbox)? {
    let lane = scheduler.lanes[1]
    guard world.isOnSQLite else {
      return SimulatedStore(run: self, lane: lane, incarnation: incarnation)
    }
    if directory == nil { directory = ScratchPath() }
    guard let directory else { return nil }
    database = try? DoubleStore(
      run: self, lane: lane, incarnation: incarnation, directory: directory.path)
    return database
  }

  func checkDatabase() {
    database?.assumeIsolated { $0.checkEnd() }
  }

  private static let fields: TipFields = {
    func at(_ name: String) -> JSONPointer {
      guard let pointer = JSONPointer("/" + name) else { preconditionFailure("a fixed pointer") }
      return pointer
    }
    return TipFields(
      id: at("id"), title: at("title"), body: at("body"), date: at("date"), tags: at("tags"),
      url: at("url"))
  }()

  private func note(_ event: SessionEvent, _ incarnation: Int) {
    guard isAlive(incarnation) else { return }
    switch event.kind {
    case .refreshStarted:
      ledger.refreshStarted(
        event.detail ?? "", generation: event.generation, disk: disk, at: scheduler.wallTime)
    case .refreshSucceeded: ledger.refreshSucceeded(lifetime: world.lifetime)
    default: break
    }
    say("  session: \(event.kind.rawValue) \(event.generation.number) \(event.detail ?? "")")
  }

  func isAlive(_ incarnation: Int) -> Bool { incarnation == self.incarnation && !isDead }

  var generation: Generation {
    guard let coordinator else { return .none }
    return coordinator.assumeIsolated { $0.generation }
  }

  var session: SessionID? {
    guard let coordinator else { return nil }
    return coordinator.assumeIsolated { $0.session(of: $0.generation) }
  }

  private var isSuspended: Bool {
    guard case .suspended = coordinator?.assumeIsolated({ $0.snapshot().phase }) else {
      return false
    }
    return true
  }

  private var isBusy: Bool {
    guard let snapshot = coordinator?.assumeIsolated({ $0.snapshot() }) else { return false }
    return !snapshot.durable || snapshot.activity == .refreshing
      || clients.contains { $0.hasBegun && $0.answer == nil }
  }

  /// The session that the world began with, once it is no longer the present one.
  var ended: MemoryDisk.Row? { disk.row?.facts.id == first?.facts.id ? nil : first }

  func tipOfEnded(_ generation: Generation) -> CachedTip? {
    guard let first else { return nil }
    return CachedTip(
      key: .today, tip: Tip(id: "1", title: "A", body: "b"), session: first.facts.id,
      generation: generation, fetchedAt: scheduler.wallTime, freshFor: .seconds(60))
  }

  // MARK: Killing it

  var mayCrash: Bool { crashesLeft > 0 }

  private func offerCrash() {
    guard crashesLeft > 0 else { return }
    scheduler.add(
      PendingEvent(
        id: nextID(), label: { "the process is killed" }, ways: [""], isOptional: true
      ) { [unowned self] _ in isCrashDue = true })
  }

  func crashAfterThisStep() { isCrashDue = true }

  private func crash() {
    isCrashDue = false
    crashesLeft -= 1
    say("KILLED, with generation \(disk.generation.number) in the store")
    // An exchange that was open may have reached the server.
    for (id, open) in exchanges.sorted(by: { $0.key < $1.key })
    where choose(2, lane: 0, "the server had read exchange \(id)") == 1 {
      _ = server.exchange(open.token)
    }
    tearDown()
    disk.recover()
    ledger.restarted(disk)
    incarnation += 1
    isDead = false
    for index in clients.indices where clients[index].answer == nil {
      clients[index].answer = .failed("killed")
    }
    boot()
    say("restarted: \(storeEnd)")
    if ledger.hasResumed, isSuspended { ledger.violate("I9", "a restart forgets the resume") }
    for client in world.afterCrash { arrive(client) }
    if world.afterCrash.contains(where: \.comesLate) { tick() }
    offerCrash()
  }

  /// Ends this incarnation without letting it reach anything any more.
  private func tearDown() {
    isDead = true
    let (open, asked, revoked) = (exchanges, requests, revoking)
    (exchanges, requests, revoking) = ([:], [:], [:])
    for (_, exchange) in open {
      exchange.continuation?.resume(returning: Self.killed)
    }
    for (_, request) in asked { request.resume(returning: Self.killedRequest) }
    for (_, revocation) in revoked { revocation.resume(returning: Self.killedRevocation) }
    scheduler.drain()
    database?.assumeIsolated { $0.abandon() }
    (coordinator, requester, tips, revocations, database) = (nil, nil, nil, nil, nil)
  }

  // MARK: The script's word

  func choose(_ count: Int, lane: Int, _ label: @autoclosure () -> String) -> Int {
    scheduler.choose(count, lane: lane, label())
  }

  func takeStoreFault(_ what: String) -> Bool {
    guard faultsLeft > 0, scheduler.now < faultsUntil,
      choose(2, lane: 1, "  store: \(what) fails, the disk is full") == 1
    else { return false }
    faultsLeft -= 1
    ledger.storeFailed()
    return true
  }
}
