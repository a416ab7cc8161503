import DemoUpstream
import Execution
import FoundationEssentials
import Platform
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// All of the daemon between the socket and the wire, on a real loop, through the real transport, at
/// a scripted upstream.
final class ServiceBench: Sendable {
  let fixture: UpstreamFixture
  let store = MemoryStore()
  let coordinator: SessionCoordinator
  let requester: ResilientRequester
  let tips: TipService
  let dialect: RefreshAnswer.Dialect
  let log = Locked<[String]>([])

  var upstream: DemoUpstream { fixture.upstream }
  var refreshPath: String { dialect == .simple ? "/auth/refresh" : "/token" }

  init(
    dialect: RefreshAnswer.Dialect = .oauth2, _ options: DemoOptions = DemoOptions(),
    fields: TipFields? = nil, paths: TipPaths = TipPaths(), base: String? = nil,
    _ change: (inout TransportSettings) -> Void = { _ in }
  ) async throws {
    let fixture = try UpstreamFixture(options, change)
    self.fixture = fixture
    self.dialect = dialect
    let (loop, log) = (fixture.loop, log)
    let base = base ?? fixture.upstream.baseURL
    let endpoint: any TokenEndpoint =
      switch dialect {
      case .simple:
        try SimpleTokenEndpoint(
          transport: fixture.transport, ground: loop, baseURL: base,
          tokenEndpoint: fixture.upstream.baseURL + "/auth/refresh")
      case .oauth2:
        try OAuth2TokenEndpoint(
          transport: fixture.transport, ground: loop, baseURL: base,
          tokenEndpoint: fixture.upstream.baseURL + "/token", client: OAuthClient(id: "brewlog"))
      }
    var policy = SessionPolicy()
    // The pauses are tested in virtual time.
    policy.firstBackoff = .milliseconds(1)
    policy.unclearRefusalsToEnd = dialect == .simple ? 1 : 3
    coordinator = SessionCoordinator(
      ground: loop, store: store, endpoint: endpoint, policy: policy,
      report: { event in
        log.withLock { $0.append("\(event.kind.rawValue) \(event.detail ?? "")") }
      })
    requester = ResilientRequester(
      ground: loop, coordinator: coordinator, transport: fixture.transport, base: base,
      policy: RetryPolicy(backoff: .milliseconds(1)))
    tips = try TipService(
      ground: loop, coordinator: coordinator, requester: requester, store: store,
      freshness: Freshness(
        defaultLifetime: .seconds(900), staleIfError: .seconds(604_800), dayZone: .gmt),
      paths: paths, fields: fields ?? TipFields.plain())
    await requester.follow()
    await tips.follow()
    try await coordinator.start()
    await tips.expectStored()
    await tips.load()
    try await signIn()
  }

  func signIn() async throws {
    _ = try await coordinator.importCredentials(
      ImportedCredentials(
        access: UpstreamFixture.secret(Array(upstream.tokens.access.utf8)),
        refresh: UpstreamFixture.secret(Array(upstream.tokens.refresh.utf8)), lifetime: nil,
        account: nil, scope: nil))
  }

  /// A tip that is asked of the upstream, whatever is held.
  func tip(_ key: TipKey = .today, wait: Duration = .seconds(30)) async -> Result<
    TipEntry, TipError
  > {
    do throws(TipError) {
      return .success(try await tips.fetch(key, TipDemand(maxAge: .zero, wait: wait)))
    } catch {
      return .failure(error)
    }
  }

  func refresh() async -> Result<SessionSnapshot, SessionError> {
    do throws(SessionError) {
      return .success(
        try await coordinator.refresh(by: fixture.loop.now.advanced(by: .seconds(30))))
    } catch {
      return .failure(error)
    }
  }

  var isSignedIn: Bool {
    get async { await coordinator.snapshot().phase == .signedIn }
  }

  /// Ends all; nothing may be left on its way.
  func close() async -> Int {
    await requester.stop()
    return await fixture.close()
  }
}
