import BrewlogAPI

/// One value of each wire type, to look at the names of its members.
enum WireSamples {
  private static let snapshot = Snapshot(
    state: .signedOut, activity: .idle, generation: 0, durable: true, accountVerified: false,
    rotations: 0)
  private static let counters = Counters(
    refreshesStarted: 0, refreshesSucceeded: 0, refreshesFailed: 0, refreshWaitersJoined: 0,
    lateResultsRejected: 0, upstreamRequests: 0, requestsDeduplicated: 0, retries: 0, cacheHits: 0,
    cacheMisses: 0)
  private static let store = StoreReport(
    path: "", schemaVersion: 0, sizeBytes: 0, walSizeBytes: 0, cachedTips: 0, encryption: "",
    integrity: "")
  private static let event = Event(sequence: 0, at: "", kind: .gap, generation: 0)
  private static let tip = Tip(id: "", title: "", body: "", tags: [])
  private static let provenance = Provenance(
    source: .cache, generation: 0, fetchedAt: "", ageSeconds: 0, freshForSeconds: 0, stale: false)
  private static let entry = Entry(tip: tip, provenance: provenance)
  private static let session = SessionReply(session: snapshot)

  static let types: [(name: String, sample: any Sendable)] = [
    ("Snapshot", snapshot), ("Counters", counters), ("Store", store), ("Event", event),
    ("DevicePrompt", DevicePrompt(verificationUri: "", userCode: "")),
    ("LoginAttempt", LoginAttempt(id: "", flow: .device, expiresAt: "", startedByUid: 0)),
    ("Tip", tip), ("Provenance", provenance), ("Entry", entry),
    ("Check", Check(name: "", ok: true, detail: "")),
    ("Setting", Setting(section: "", key: "", value: "", origin: "")),
  ]

  static let enumerations: [String: [String]] = [
    "State": SessionState.known.map(\.name), "Activity": Activity.known.map(\.name),
  ]

  static func reply(of method: APIMethod) -> any Sendable {
    switch method {
    case .today, .get: entry
    case .list: ListReply(entries: [])
    case .rate, .cancelLogin: EmptyReply()
    case .status: StatusReply(session: snapshot, counters: counters, pendingRevocations: 0)
    case .inspect:
      InspectReply(persisted: snapshot, inMemory: snapshot, consistent: true, store: store)
    case .login: LoginReply()
    case .completeLogin, .importCredentials, .refresh, .resume: session
    case .logout: LogoutReply(previousGeneration: 0, generation: 0, revocation: .skipped)
    case .verifyErasure: VerifyErasureReply(clean: true, findings: [])
    case .explain: ExplainReply(sentence: "", evidence: [])
    case .watch: WatchReply(event: event)
    case .history: HistoryReply(events: [])
    case .health: HealthReply(ready: true, checks: [], uptimeSeconds: 0)
    case .metrics: MetricsReply(openMetrics: "")
    case .configuration: ConfigurationReply(settings: [])
    case .reload: ReloadReply(changed: [])
    case .canI: CanIReply(allowed: true, rule: "")
    }
  }

  static func fields(of value: any Sendable) -> [String] {
    Mirror(reflecting: value).children.compactMap(\.label)
  }
}
