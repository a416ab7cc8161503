import BrewlogAPI
import Configuration
import Execution
import FoundationEssentials
import JSON
import Platform
import Requests
import Secrets
import Session
import Store
import Tips
import Upstream
import Varlink

/// All parts of the running daemon, built once, from the bottom up.
struct DaemonGraph: Sendable {
  let loop: EventLoop
  let store: OpenedStore
  let transport: CurlTransport
  let coordinator: SessionCoordinator
  let requester: ResilientRequester
  let tips: TipService
  let events: EventHub
  let server: VarlinkServer
  let log: Log

  /// A configuration that parses but cannot be used.
  struct Fault: Error {
    var message: String
  }

  init(
    configuration: DaemonConfiguration, loop: EventLoop, store: OpenedStore, log: Log
  ) throws(Fault) {
    self.loop = loop
    self.store = store
    self.log = log
    let endpoint: any TokenEndpoint
    do throws(TransportError) {
      transport = try CurlTransport(loop: loop, settings: Self.transport(configuration))
      endpoint = try Self.endpoint(configuration, transport, loop)
    } catch {
      throw Fault(message: error.reason)
    }
    let events = EventHub(ground: loop, journal: store.sessions)
    self.events = events
    coordinator = SessionCoordinator(
      ground: loop, store: store.sessions, endpoint: endpoint, policy: Self.policy(configuration)
    ) { event in
      log(EventLog.level(of: event), EventLog.line(for: event))
      events.assumeIsolated {
        $0.post(
          event.kind.rawValue, generation: event.generation, detail: event.detail,
          actorUID: event.actorUID, httpStatus: event.httpStatus)
      }
    }
    requester = ResilientRequester(
      ground: loop, coordinator: coordinator, transport: transport,
      base: configuration.upstream.baseURL,
      policy: RetryPolicy(
        maxRetries: configuration.retry.maxRetries, backoff: configuration.retry.backoff,
        jitter: Double(configuration.retry.jitter) / 100),
      requestTimeout: configuration.upstream.requestTimeout
    ) { event in
      switch event {
      case .away(let reason):
        log(.warning, "the upstream is away: \(reason)")
        events.assumeIsolated { $0.post("upstreamAway", generation: .none, detail: reason) }
      case .back:
        log(.notice, "the upstream is back")
        events.assumeIsolated { $0.post("upstreamBack", generation: .none) }
      }
    }
    tips = TipService(
      ground: loop, coordinator: coordinator, requester: requester, store: store.tips,
      freshness: Self.freshness(configuration), paths: Self.paths(configuration),
      fields: try Self.fields(configuration), keep: configuration.cache.keepTips
    ) { fault in log(.warning, "tips are kept in memory only: \(fault)") }
    server = VarlinkServer(
      loop: loop,
      info: ServiceInfo(
        vendor: "brewlog", product: "brewlogd", version: BrewlogDaemon.version,
        url: "https://brewlog.example"),
      interfaces: MethodTable.interfaces, limits: Self.limits(configuration),
      handler: MethodHandler(
        loop: loop, coordinator: coordinator, requester: requester, tips: tips,
        events: events,
        quota: QuotaKeeper(ground: loop, perMinute: configuration.access.requestsPerMinute),
        access: Self.access(configuration, log), configuration: configuration, log: log,
        startedAt: loop.now)
    ) { notice in log(.warning, "connections are refused: \(notice)") }
  }

  /// The store before the socket: no client sees a session that is not there yet. Nothing goes
  /// upstream here.
  func start(listener: consuming FileDescriptor) async throws {
    await requester.follow()
    await tips.follow()
    await tips.serveAsProbe()
    try await coordinator.start()
    try await events.start()
    await tips.start()
    try await server.serve(on: listener)
  }

  /// No new calls, callers answered, the exchange in flight finished and stored, the store closed.
  func stop() async -> ExitCode {
    await coordinator.refuseCalls()
    await requester.stop()
    await events.stop()
    await server.stop()
    let isStored = await coordinator.stop()
    await transport.close()
    if !isStored { log(.error, "stopped with credentials that could not be stored") }
    return isStored ? .stopped : .notStored
  }
}

extension DaemonGraph {
  private static func transport(_ configuration: DaemonConfiguration) -> TransportSettings {
    var settings = TransportSettings()
    settings.connectTimeout = configuration.upstream.connectTimeout
    settings.maxBodyBytes = configuration.upstream.maxBodyBytes
    settings.proxy = configuration.upstream.proxy
    settings.caFile = configuration.upstream.caFile
    settings.allowCleartext = configuration.upstream.allowCleartext
    settings.userAgent = "brewlogd/\(BrewlogDaemon.version)"
    return settings
  }

  private static func endpoint(
    _ configuration: DaemonConfiguration, _ transport: CurlTransport, _ loop: EventLoop
  ) throws(TransportError) -> any TokenEndpoint {
    let auth = configuration.auth
    switch auth.dialect {
    case .simple:
      return try SimpleTokenEndpoint(
        transport: transport, ground: loop, baseURL: configuration.upstream.baseURL,
        tokenEndpoint: auth.tokenEndpoint)
    case .oauth2:
      guard let tokenEndpoint = auth.tokenEndpoint else {
        throw TransportError(
          .invalidURL, reason: "set [Auth] TokenEndpoint=: Dialect=oauth2 needs it")
      }
      return try OAuth2TokenEndpoint(
        transport: transport, ground: loop, baseURL: configuration.upstream.baseURL,
        tokenEndpoint: tokenEndpoint, issuer: auth.issuer, client: try client(auth),
        scope: auth.scope, resource: auth.resource)
    }
  }

  private static func client(
    _ auth: DaemonConfiguration.Auth
  ) throws(TransportError) -> OAuthClient {
    OAuthClient(id: auth.clientID ?? "")
  }

  private static func policy(_ configuration: DaemonConfiguration) -> SessionPolicy {
    var policy = SessionPolicy()
    policy.deadline = configuration.refresh.deadline
    policy.margin = configuration.refresh.margin
    policy.jitter = Double(configuration.refresh.jitter) / 100
    policy.refreshesWithoutToken = configuration.auth.dialect == .simple
    policy.unclearRefusalsToEnd = configuration.auth.dialect == .simple ? 1 : 3
    return policy
  }

  private static func freshness(_ configuration: DaemonConfiguration) -> Freshness {
    Freshness(
      defaultLifetime: configuration.cache.freshFor,
      staleIfError: configuration.cache.staleIfError,
      dayZone: configuration.cache.dayZone.flatMap { TimeZone(identifier: $0) } ?? .current)
  }

  private static func paths(_ configuration: DaemonConfiguration) -> TipPaths {
    TipPaths(
      today: configuration.upstream.todayPath, item: configuration.upstream.itemPath,
      rating: configuration.upstream.ratingPath)
  }

  private static func fields(_ configuration: DaemonConfiguration) throws(Fault) -> TipFields {
    func pointer(_ key: String, _ text: String) throws(Fault) -> JSONPointer {
      guard let pointer = JSONPointer(text) else {
        throw Fault(message: "[Upstream] \(key)=\(text) is not a JSON Pointer such as /id")
      }
      return pointer
    }
    let fields = configuration.upstream.fields
    return TipFields(
      id: try pointer("IDField", fields.id), title: try pointer("TitleField", fields.title),
      body: try pointer("BodyField", fields.body), date: try pointer("DateField", fields.date),
      tags: try pointer("TagsField", fields.tags), url: try pointer("URLField", fields.url))
  }

  private static func limits(_ configuration: DaemonConfiguration) -> Limits {
    var limits = Limits()
    limits.maxConnections = configuration.socket.maxConnections
    limits.maxConnectionsPerUser = configuration.socket.maxConnectionsPerUser
    limits.maxMessageBytes = configuration.socket.maxMessageBytes
    limits.maxPendingCalls = configuration.socket.maxPendingCalls
    limits.maxUnreadBytes = configuration.socket.maxUnreadBytes
    limits.idleTimeout = configuration.socket.idleTimeout
    return limits
  }

  private static func access(_ configuration: DaemonConfiguration, _ log: Log) -> Access {
    let (read, readWarnings) = Access.members(of: configuration.access.read, key: "Read")
    let (control, controlWarnings) = Access.members(
      of: configuration.access.control, key: "Control")
    for warning in readWarnings + controlWarnings { log(.warning, warning) }
    return Access(read: read, control: control, ownUID: Accounts.ownUserID)
  }
}
