import Execution
import FoundationEssentials
import JSON
import Platform
import Requests
import Secrets
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// A call that a test has begun in virtual time, and what it came to.
final class VirtualCall<Value: Sendable>: Sendable {
  private let outcome = Locked<Result<Value, any Error>?>(nil)
  private let task = Locked<Task<Void, Never>?>(nil)

  init(_ ground: ManualGround, _ body: @escaping @Sendable () async throws -> Value) {
    let running = Task(executorPreference: ground) { [self] in
      let result: Result<Value, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
    }
    task.withLock { $0 = running }
  }

  var isAnswered: Bool { outcome.withLock { $0 != nil } }
  func value() throws -> Value { try #require(outcome.withLock { $0 }, "not answered").get() }
  func error<E: Error>(_ type: E.Type = TipError.self) -> E? {
    guard case .failure(let error) = outcome.withLock({ $0 }) else { return nil }
    return error as? E
  }
  func cancel() { task.withLock { $0 }?.cancel() }
}

/// All of the daemon between the socket and the wire, in virtual time: the real token endpoint,
/// coordinator, requester and tips over a ``VirtualAPI``. Not Sendable: one test drives it.
final class VirtualBench {
  let ground: ManualGround
  let api: VirtualAPI
  let store: MemoryStore
  private(set) var coordinator: SessionCoordinator
  private(set) var requester: ResilientRequester
  private(set) var tips: TipService
  /// A line for each event, as the daemon's log has them.
  let log = Locked<[String]>([])
  private let policy: SessionPolicy
  private let retries: RetryPolicy
  private let dialect: RefreshAnswer.Dialect
  private let fields: TipFields?

  init(
    dialect: RefreshAnswer.Dialect = .oauth2, policy: SessionPolicy = SessionPolicy(),
    retries: RetryPolicy = RetryPolicy(), fields: TipFields? = nil, jitter: Double = 0
  ) throws {
    ground = ManualGround()
    api = VirtualAPI(ground: ground)
    store = MemoryStore()
    var policy = policy
    policy.jitter = jitter
    policy.unclearRefusalsToEnd = dialect == .simple ? 1 : 3
    self.policy = policy
    self.retries = retries
    self.dialect = dialect
    self.fields = fields
    (coordinator, requester, tips) = try Self.parts(
      ground, api, store, dialect, policy, retries, fields, log)
    try start()
  }

  private static func parts(
    _ ground: ManualGround, _ api: VirtualAPI, _ store: MemoryStore,
    _ dialect: RefreshAnswer.Dialect, _ policy: SessionPolicy, _ retries: RetryPolicy,
    _ fields: TipFields?, _ log: Locked<[String]>
  ) throws -> (SessionCoordinator, ResilientRequester, TipService) {
    let base = VirtualAPI.base
    let endpoint: any TokenEndpoint =
      switch dialect {
      case .simple: try SimpleTokenEndpoint(transport: api, ground: ground, baseURL: base)
      case .oauth2:
        try OAuth2TokenEndpoint(
          transport: api, ground: ground, baseURL: base, tokenEndpoint: base + "/token",
          client: OAuthClient(id: "brewlog"))
      }
    let coordinator = SessionCoordinator(
      ground: ground, store: store, endpoint: endpoint, policy: policy,
      report: { event in
        log.withLock { $0.append("\(event.kind.rawValue) \(event.detail ?? "")") }
      })
    let requester = ResilientRequester(
      ground: ground, coordinator: coordinator, transport: api, base: base, policy: retries)
    let tips = try TipService(
      ground: ground, coordinator: coordinator, requester: requester, store: store,
      freshness: Freshness(
        defaultLifetime: .seconds(900), staleIfError: .seconds(604_800), dayZone: .gmt),
      fields: fields ?? TipFields.plain(),
      report: { fault in log.withLock { $0.append(fault) } })
    return (coordinator, requester, tips)
  }

  private func start() throws {
    let (coordinator, requester, tips) = (coordinator, requester, tips)
    try run {
      await requester.follow()
      await tips.follow()
      await tips.serveAsProbe()
      try await coordinator.start()
      await tips.expectStored()
      await tips.load()
    }
  }

  /// Another run of the daemon over the same store. `after`: how long none ran.
  func restart(after pause: Duration = .zero) throws {
    let old = (coordinator, requester)
    ground.perform {
      old.0.assumeIsolated { $0.refuseCalls() }
    }
    try run { await old.1.stop() }
    let stopping = begin { await old.0.stop() }
    ground.advance(by: pause)
    _ = try stopping.value()
    (coordinator, requester, tips) = try Self.parts(
      ground, api, store, dialect, policy, retries, fields, log)
    try start()
  }

  // MARK: Calls

  func begin<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) -> VirtualCall<Value> {
    VirtualCall(ground, body)
  }

  /// Runs what needs no time to pass.
  @discardableResult
  func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let call = begin(body)
    ground.run()
    return try call.value()
  }

  @discardableResult
  func signIn(
    access: String? = "dummy-access-0", refresh: String? = "dummy-refresh-0",
    lifetime: Duration? = .seconds(3600)
  ) throws -> SessionSnapshot {
    let coordinator = coordinator
    return try run {
      try await coordinator.importCredentials(
        ImportedCredentials(
          access: UpstreamFixture.secret(access.map { Array($0.utf8) }),
          refresh: UpstreamFixture.secret(refresh.map { Array($0.utf8) }), lifetime: lifetime,
          account: nil, scope: nil))
    }
  }

  /// Signed in with an access token that the upstream does not take any more.
  static func expired(
    dialect: RefreshAnswer.Dialect = .oauth2, policy: SessionPolicy = SessionPolicy()
  ) throws -> VirtualBench {
    let bench = try VirtualBench(dialect: dialect, policy: policy)
    bench.api.rejectAccess()
    try bench.signIn(lifetime: nil)
    return bench
  }

  /// A tip that is asked of the upstream, whatever is held.
  func tip(wait: Duration = .seconds(30), maxAge: Duration? = .zero) -> VirtualCall<TipEntry> {
    let tips = tips
    let call = begin { try await tips.fetch(.today, TipDemand(maxAge: maxAge, wait: wait)) }
    ground.run()
    return call
  }

  func refresh(wait: Duration = .seconds(20)) -> VirtualCall<SessionSnapshot> {
    let (coordinator, deadline) = (coordinator, ground.now.advanced(by: wait))
    let call = begin { try await coordinator.refresh(by: deadline) }
    ground.run()
    return call
  }

  // MARK: Looking

  var snapshot: SessionSnapshot {
    ground.perform { coordinator.assumeIsolated { $0.snapshot() } }
  }
  var isSignedIn: Bool { snapshot.phase == .signedIn }
  /// Whether requests are held back for want of an upstream.
  var isAway: Bool {
    ground.perform { requester.assumeIsolated { $0.away != nil } }
  }
  var lines: [String] { log.withLock { $0 } }
}

extension TipFields {
  /// As the demo upstream has them.
  static func plain() throws -> TipFields {
    try of(id: "/id", title: "/title", body: "/body")
  }

  static func of(id: String, title: String, body: String) throws -> TipFields {
    func pointer(_ text: String) throws -> JSONPointer { try #require(JSONPointer(text)) }
    return try TipFields(
      id: pointer(id), title: pointer(title), body: pointer(body), date: pointer("/date"),
      tags: pointer("/tags"), url: pointer("/url"))
  }
}
