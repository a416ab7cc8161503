import BrewlogAPI
import Configuration
import Execution
import Platform
import Requests
import Session
import Store
import Tips
import Upstream
import Varlink

/// All parts of the running daemon, built once, from the bottom up. A reload changes what they were
/// given, never the parts.
struct DaemonGraph: Sendable {
  let loop: EventLoop
  let store: OpenedStore
  let transport: MonitoredTransport
  let endpoint: ReplaceableEndpoint
  let coordinator: SessionCoordinator
  let requester: ResilientRequester
  let tips: TipService
  let texts: FreshTexts
  let events: EventHub
  let grants: LoginGrants
  let logins: LoginCoordinator
  let revocations: RevocationCoordinator
  let handler: MeasuredHandler
  let server: VarlinkServer
  let log: Log
  private let conduct: Conduct
  private let credentialsDirectory: String?
  private let startedAt: Instant
  private let network = Locked<NetworkWatch?>(nil)

  /// A configuration that parses but cannot be used.
  struct Fault: Error {
    var message: String
  }

  init(
    configuration: DaemonConfiguration, accounts: AccountNames, loop: EventLoop,
    store: OpenedStore, conduct: Conduct, environment: [String: String], log: Log,
    decorate: BrewlogDaemon.Decoration = { $0 }
  ) throws(Fault) {
    self.loop = loop
    self.store = store
    self.conduct = conduct
    self.log = log
    credentialsDirectory = environment["CREDENTIALS_DIRECTORY"]
    startedAt = loop.now
    let events = EventHub(ground: loop, journal: store.sessions)
    self.events = events
    transport = MonitoredTransport(
      loop: loop, transport: try Self.curl(configuration, loop), metrics: conduct.metrics
    ) { reach in
      Self.tell(reach, log, events)
      conduct.noteChange()
    }
    let authorization = try Self.authorization(
      configuration, transport, loop, credentialsDirectory: credentialsDirectory)
    endpoint = ReplaceableEndpoint(decorate(authorization.endpoint))
    grants = LoginGrants(authorization.means, endpoint: endpoint)
    let report: @Sendable (SessionEvent) -> Void = { event in
      Self.tell(event, log, events)
      conduct.noteChange()
    }
    coordinator = SessionCoordinator(
      ground: loop, store: store.sessions, endpoint: endpoint, outbox: store.sessions,
      policy: Self.policy(configuration), report: report)
    logins = LoginCoordinator(
      loop: loop, coordinator: coordinator, grants: grants, report: report)
    revocations = RevocationCoordinator(
      ground: loop, coordinator: coordinator, outbox: store.sessions, revoker: grants,
      report: report)
    requester = ResilientRequester(
      ground: loop, coordinator: coordinator, transport: transport,
      base: configuration.upstream.baseURL, policy: Self.retryPolicy(configuration),
      requestTimeout: configuration.upstream.requestTimeout)
    let texts = FreshTexts(gate: coordinator.gate)
    self.texts = texts
    tips = TipService(
      ground: loop, coordinator: coordinator, requester: requester, store: store.tips,
      freshness: Self.freshness(configuration), paths: Self.paths(configuration),
      fields: try Self.fields(configuration), keep: configuration.cache.keepTips,
      changed: { texts.removeAll() }
    ) { fault in log(.warning, "tips are kept in memory only: \(fault)") }
    handler = MeasuredHandler(
      Self.handler(
        configuration, accounts, loop,
        (coordinator, requester, tips, texts, events, logins, revocations), conduct, log, startedAt),
      metrics: conduct.metrics)
    server = VarlinkServer(
      loop: loop,
      info: ServiceInfo(
        vendor: "brewlog", product: "brewlogd", version: BrewlogDaemon.version,
        url: "https://brewlog.example"),
      interfaces: MethodTable.interfaces, limits: Self.limits(configuration), handler: handler
    ) { notice in log(.warning, notice.description) }
  }

  /// What the methods ask.
  private typealias Parts = (
    SessionCoordinator, ResilientRequester, TipService, FreshTexts, EventHub, LoginCoordinator,
    RevocationCoordinator
  )

  private static func handler(
    _ configuration: DaemonConfiguration, _ accounts: AccountNames, _ loop: EventLoop,
    _ parts: Parts, _ conduct: Conduct, _ log: Log, _ startedAt: Instant
  ) -> MethodHandler {
    MethodHandler(
      loop: loop, coordinator: parts.0, requester: parts.1, tips: parts.2, texts: parts.3,
      events: parts.4, logins: parts.5, revocations: parts.6,
      quota: QuotaKeeper(ground: loop, perMinute: configuration.access.requestsPerMinute),
      access: access(configuration, accounts, log),
      refusals: RefusalLog(ground: loop, log: log), configuration: configuration, log: log,
      startedAt: startedAt, conduct: conduct)
  }

  private static func curl(
    _ configuration: DaemonConfiguration, _ loop: EventLoop
  ) throws(Fault) -> CurlTransport {
    do throws(TransportError) {
      return try CurlTransport(loop: loop, settings: transport(configuration))
    } catch {
      throw Fault(message: error.reason)
    }
  }

  private static func tell(_ event: SessionEvent, _ log: Log, _ events: EventHub) {
    log(EventLog.level(of: event), EventLog.line(for: event), EventLog.fields(of: event))
    events.assumeIsolated {
      $0.post(
        event.kind.rawValue, generation: event.generation, detail: event.detail,
        actorUID: event.actorUID, httpStatus: event.httpStatus)
    }
  }

  private static func tell(_ reach: MonitoredTransport.Reach, _ log: Log, _ events: EventHub) {
    switch reach {
    case .away(_, let reason):
      log(
        .warning, "the upstream is away: \(reason)", LogFields(event: EventKind.upstreamAway.name))
      events.assumeIsolated {
        $0.post(EventKind.upstreamAway.name, generation: .none, detail: reason)
      }
    case .back:
      log(.notice, "the upstream is back", LogFields(event: EventKind.upstreamBack.name))
      events.assumeIsolated { $0.post(EventKind.upstreamBack.name, generation: .none) }
    }
  }

  /// The store before the socket: no client sees a session that is not there yet. Nothing goes
  /// upstream here: the transport is shut until READY.
  func start(listener: consuming FileDescriptor) async throws {
    await requester.follow()
    await tips.follow()
    await tips.serveAsProbe()
    await logins.follow()
    await revocations.follow()
    try await coordinator.start()
    try await events.start()
    await tips.expectStored()
    await revocations.start()
    loop.perform { watchNetwork() }
    try await server.serve(on: listener)
  }

  /// What READY does not wait for: thousands of stored tips are checked, then read.
  func startTips() {
    Task(executorPreference: loop) {
      for warning in await store.checkTips() { log(.warning, warning) }
      await tips.load()
    }
  }

  /// On the loop. An upstream that was away is asked again as soon as the network has changed.
  private func watchNetwork() {
    do throws(SystemError) {
      let watch = try NetworkWatch(loop: loop) { [requester] in
        requester.assumeIsolated { $0.networkChanged() }
      }
      network.withLock { $0 = watch }
    } catch {
      log(.debug, "changes of the network are not noticed: \(error)")
    }
  }

  /// On the loop, from a reload. What can fail comes first, so that it is all or nothing.
  func adopt(
    _ new: DaemonConfiguration, from old: DaemonConfiguration, _ accounts: AccountNames
  ) throws(Fault) {
    let fields = try Self.fields(new)
    if new.upstream != old.upstream || new.auth != old.auth {
      let curl = try Self.curl(new, loop)
      let replacement = try Self.authorization(
        new, transport, loop, credentialsDirectory: credentialsDirectory)
      transport.assumeIsolated { $0.use(curl) }
      endpoint.use(replacement.endpoint)
      grants.use(replacement.means)
    }
    coordinator.assumeIsolated { $0.adopt(Self.policy(new)) }
    requester.assumeIsolated {
      $0.adopt(
        base: new.upstream.baseURL, policy: Self.retryPolicy(new),
        requestTimeout: new.upstream.requestTimeout)
    }
    tips.assumeIsolated {
      $0.adopt(
        freshness: Self.freshness(new), paths: Self.paths(new), fields: fields,
        keep: new.cache.keepTips)
    }
    server.assumeIsolated { $0.adopt(Self.limits(new)) }
    handler.use(
      Self.handler(
        new, accounts, loop, (coordinator, requester, tips, texts, events, logins, revocations),
        conduct,
        log, startedAt))
  }

  /// No new calls, callers answered, the exchange in flight finished and stored, the store closed.
  func stop() async -> ExitCode {
    await coordinator.refuseCalls()
    await requester.stop()
    await events.stop()
    await logins.stop()
    await server.stop()
    await revocations.stop()
    let isStored = await coordinator.stop()
    await transport.close()
    if !isStored { log(.error, "stopped with credentials that could not be stored") }
    return isStored ? .stopped : .notStored
  }
}
