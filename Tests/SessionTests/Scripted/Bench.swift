import Execution
import FoundationEssentials
import JSON
import Platform
import Requests
import Secrets
import Session
import Simulation
import TestSupport
import Testing
import Tips

/// What a call that a test has begun came to, once it has.
final class Pending<Value: Sendable>: Sendable {
  private let outcome: Locked<Result<Value, any Error>?>
  private let count: Locked<Int>
  private let task: Locked<Task<Void, Never>?>

  init() {
    outcome = Locked(nil)
    count = Locked(0)
    task = Locked(nil)
  }

  func run(on ground: ManualGround, _ body: @escaping @Sendable () async throws -> Value) {
    let running = Task(executorPreference: ground) { [self] in
      let result: Result<Value, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
      count.withLock { $0 += 1 }
    }
    task.withLock { $0 = running }
  }

  func cancel() { task.withLock { $0 }?.cancel() }

  var isAnswered: Bool { outcome.withLock { $0 != nil } }

  /// The value; fails the test where there is none (yet).
  func value() throws -> Value { try #require(outcome.withLock { $0 }).get() }

  /// The error; nil where there is none (yet).
  func error<E: Error>(_ type: E.Type) -> E? {
    guard case .failure(let error) = outcome.withLock({ $0 }) else { return nil }
    return error as? E
  }

  func error() -> SessionError? { error(SessionError.self) }
}

/// One coordinator with all that belongs to it, on a ground that the test turns by hand.
struct Bench {
  static let binding = UpstreamBinding(
    issuer: "https://id.example.test", clientID: "dummy-client",
    apiOrigin: "https://api.example.test")

  let ground: ManualGround
  let endpoint: ScriptedEndpoint
  let store: ScriptedStore
  let transport: ScriptedTransport
  let coordinator: SessionCoordinator
  let requester: ResilientRequester
  let tips: TipService
  let journal = Journal()

  /// All that happened, in order: exchanges, requests, steps of the store, events.
  final class Journal: Sendable {
    private let lines = Locked<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
    func count(_ line: String) -> Int { all.filter { $0 == line }.count }
    func clear() { lines.withLock { $0 = [] } }
  }

  init(
    policy: SessionPolicy = SessionPolicy(), retries: RetryPolicy = RetryPolicy(),
    binding: UpstreamBinding = Bench.binding, ground: ManualGround = ManualGround(),
    store: ScriptedStore? = nil
  ) throws {
    var policy = policy
    policy.jitter = 0
    self.ground = ground
    let journal = journal
    let note: @Sendable (String) -> Void = { journal.add($0) }
    endpoint = ScriptedEndpoint(binding: binding, note: note)
    self.store = store ?? ScriptedStore(note: note)
    transport = ScriptedTransport(note: note)
    let counter = Locked(UInt8(0))
    let entropy = Entropy { length in
      let next = counter.withLock { count in
        count += 1
        return count
      }
      return Array(repeating: next, count: length)
    }
    coordinator = SessionCoordinator(
      ground: ground, store: self.store, endpoint: endpoint, policy: policy, entropy: entropy,
      report: { journal.add($0.kind.rawValue) })
    requester = ResilientRequester(
      ground: ground, coordinator: coordinator, transport: transport,
      base: "https://api.example.test", policy: retries, entropy: entropy)
    tips = try TipService(
      ground: ground, coordinator: coordinator, requester: requester, store: self.store,
      freshness: Freshness(
        defaultLifetime: .seconds(60), staleIfError: .seconds(600), dayZone: .gmt),
      fields: Bench.fields(), entropy: entropy)
  }

  static func fields() throws -> TipFields {
    func at(_ name: String) throws -> JSONPointer { try #require(JSONPointer("/" + name)) }
    return try TipFields(
      id: at("id"), title: at("title"), body: at("body"), date: at("date"), tags: at("tags"),
      url: at("url"))
  }

  /// Starts what the daemon starts, and signs in with `access-0` and `refresh-0` unless told not to.
  static func started(
    signedIn: Bool = true, lifetime: Duration? = .seconds(3600), refresh: String? = "refresh-0",
    policy: SessionPolicy = SessionPolicy(), retries: RetryPolicy = RetryPolicy()
  ) throws -> Bench {
    let bench = try Bench(policy: policy, retries: retries)
    try bench.start()
    if signedIn { try bench.signIn("access-0", refresh, lifetime: lifetime) }
    bench.journal.clear()
    return bench
  }

  func start() throws {
    let start = call { [self] in
      await requester.follow()
      await tips.follow()
      try await coordinator.start()
      await tips.expectStored()
      await tips.load()
    }
    ground.run()
    try start.value()
  }

  func signIn(_ access: String?, _ refresh: String?, lifetime: Duration? = nil) throws {
    let signingIn = importing(access, refresh, lifetime: lifetime)
    ground.run()
    _ = try signingIn.value()
  }

  // MARK: Calls

  func call<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) -> Pending<Value> {
    let pending = Pending<Value>()
    pending.run(on: ground, body)
    return pending
  }

  func importing(
    _ access: String?, _ refresh: String?, lifetime: Duration? = nil,
    ifGeneration expected: Generation? = nil
  ) -> Pending<SessionSnapshot> {
    call { [coordinator] in
      try await coordinator.importCredentials(
        ImportedCredentials(
          access: Dummy.secret(access), refresh: Dummy.secret(refresh), lifetime: lifetime,
          account: nil, scope: nil), ifGeneration: expected)
    }
  }

  func refreshing(within wait: Duration = .seconds(20)) -> Pending<SessionSnapshot> {
    let deadline = ground.now.advanced(by: wait)
    return call { [coordinator] in try await coordinator.refresh(by: deadline) }
  }

  /// A caller whose request was answered 401 for this token.
  func replacing(
    _ rejected: TokenVersion, within wait: Duration = .seconds(20)
  ) -> Pending<TokenVersion> {
    let deadline = ground.now.advanced(by: wait)
    return call { [coordinator] in
      try await coordinator.replace(rejected, by: deadline)
      return try await coordinator.credential(
        for: rejected.generation, mayRefresh: false, by: deadline
      ).version
    }
  }

  func loggingOut() -> Pending<LogoutReceipt> {
    call { [coordinator] in try await coordinator.logout() }
  }

  func getting(
    _ path: String = "/tips/today", within wait: Duration = .seconds(30),
    repetition: Repetition = .idempotent, fields: [HTTPField] = []
  ) -> Pending<String> {
    let deadline = ground.now.advanced(by: wait)
    let endpoint = Endpoint<String>(
      .get, path, fields: fields, repetition: repetition,
      interpret: { String(decoding: $0.body, as: UTF8.self) })
    return call { [requester] in try await requester.send(endpoint, by: deadline).value }
  }

  func today(_ demand: TipDemand = TipDemand(wait: .seconds(30))) -> Pending<TipEntry> {
    call { [tips] in try await tips.fetch(.today, demand) }
  }

  // MARK: Looking, between turns

  func look<R: Sendable>(_ body: @Sendable (isolated SessionCoordinator) -> R) -> R {
    ground.perform { coordinator.assumeIsolated { body($0) } }
  }

  var snapshot: SessionSnapshot { look { $0.snapshot() } }
  var counters: SessionCounters { look { $0.counters } }
  /// The present token's name.
  var version: TokenVersion {
    get throws {
      let now = ground.now
      let pending = call { [coordinator] in
        try await coordinator.credential(
          for: coordinator.generation, mayRefresh: false, by: now
        ).version
      }
      ground.run()
      return try pending.value()
    }
  }
}
