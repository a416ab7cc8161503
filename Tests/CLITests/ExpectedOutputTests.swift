import BrewlogAPI
import CLI
import JSON
import Testing
import Varlink

/// Every command's exact output at widths 40, 80 and 200, on a terminal and in a pipe, in a UTF-8
/// and in the C locale.
@Suite(.timeLimit(.minutes(1)))
struct ExpectedOutputTests {
  /// A session that was refreshed twice, failed once, lived through an outage and was left.
  static let life: [Event] = rows.enumerated().map { index, row in
    Event(
      sequence: index + 1, at: "2026-11-30T\(row.time)Z", kind: EventKind(name: row.kind),
      generation: index < 12 ? 3 : 4, detail: row.detail, httpStatus: row.status)
  }.reversed()

  private static let rows: [(kind: String, time: String, detail: String?, status: Int?)] = [
    ("signedIn", "09:00:00", "ada@example.org", nil), ("refreshStarted", "10:00:00", nil, nil),
    ("refreshSucceeded", "10:00:00.120", nil, 200), ("upstreamAway", "10:40:00", "timed out", nil),
    ("refreshStarted", "11:00:00", nil, nil), ("refreshFailed", "11:00:05", "timed out", nil),
    ("upstreamBack", "11:20:00", nil, nil), ("refreshStarted", "11:20:01", nil, nil),
    ("refreshSucceeded", "11:20:01.300", nil, 200), ("tipLoading", "11:20:02", nil, nil),
    ("tipChanged", "11:20:02.080", "2026-11-30", 200),
    ("signedOut", "12:30:00", "the account signed out", nil),
    ("signedIn", "13:00:00", "grace@example.org", nil),
  ]

  static let attempt = LoginAttempt(
    id: "1", flow: .device,
    device: DevicePrompt(
      verificationUri: "https://example.org/device",
      verificationUriComplete: "https://example.org/device?code=WDJB-MJHT", userCode: "WDJB-MJHT"),
    expiresAt: "2026-11-30T14:10:00Z", startedByUid: 0)

  static func stream(_ replies: [some Encodable & Sendable]) -> Answer {
    .stream { stream in
      let all = replies.map { (try? JSONText.encode($0)) ?? [] }
      for reply in all.dropLast() { try? stream.send(reply) }
      return .success(all.last ?? [])
    }
  }

  static let answers: [APIMethod: Answer] = [
    .today: .reply(Samples.entry), .get: .reply(Samples.entry),
    .list: .reply(ListReply(entries: [Samples.entry, Samples.old])), .rate: .reply(EmptyReply()),
    .status: .reply(Samples.status), .health: .reply(Samples.health),
    .explain: .reply(Samples.explain),
    .inspect: .reply(
      InspectReply(
        persisted: Samples.signedIn, inMemory: Samples.signedIn, consistent: true,
        store: Samples.store)),
    .login: stream([LoginReply(attempt: attempt), LoginReply(session: Samples.signedIn)]),
    .logout: .reply(LogoutReply(previousGeneration: 3, generation: 4, revocation: .queued)),
    .refresh: .reply(SessionReply(session: Samples.signedIn)),
    .resume: .reply(SessionReply(session: Samples.signedIn)),
    .history: .reply(HistoryReply(events: life)),
    .watch: stream(life.reversed().map { WatchReply(event: $0) }),
    .verifyErasure: .reply(
      VerifyErasureReply(clean: false, findings: ["session.db: an unwiped page of session 00ff"])),
    .canI: .reply(
      CanIReply(
        allowed: false, rule: "Control=root", remedy: "add your user to Control= in [Access]")),
    .metrics: .reply(MetricsReply(openMetrics: "# TYPE a counter\na_total 1\n# EOF\n")),
    .configuration: .reply(
      ConfigurationReply(settings: [
        Setting(
          section: "Upstream", key: "BaseURL", value: "https://api.example.org",
          origin: "/etc/brewlog/brewlogd.conf:3"),
        Setting(section: "Log", key: "Level", value: "info", origin: "default"),
      ])),
    .reload: .reply(
      ReloadReply(changed: [
        Setting(section: "Log", key: "Level", value: "debug", origin: "/etc/x.conf:1")
      ])),
  ]

  @Test(
    arguments: [
      ("tip", ["tip"]), ("tip-card", ["tip", "--card"]),
      ("tip-format", ["tip", "--format", "{title} ({freshness})"]), ("tips", ["tips"]),
      ("rate", ["rate", "2026-11-30", "5"]), ("status", ["status"]), ("explain", ["explain"]),
      ("session", ["session"]), ("login", ["login"]), ("logout", ["logout"]),
      ("refresh", ["refresh"]), ("resume", ["resume"]), ("history", ["history"]),
      ("history-plot", ["history", "--plot"]), ("watch", ["watch"]),
      ("verify-erasure", ["verify-erasure"]), ("can-i", ["can-i", "Logout"]),
      ("health", ["health"]), ("metrics", ["metrics"]), ("config", ["config"]),
      ("reload", ["reload"]), ("json", ["--json", "status"]),
    ] as [(String, [String])])
  func `each command prints just this`(name: String, arguments: [String]) async throws {
    let daemon = try await ScriptedDaemon(Self.answers)
    try ExpectedOutput().check(name, arguments, daemon)
    await daemon.stop()
  }

  @Test func `help is just this`() throws {
    try ExpectedOutput().check("help", ["--help"], nil)
    for command in CommandTable.all {
      try ExpectedOutput().check("help-\(command.name)", [command.name, "--help"], nil)
    }
  }

  @Test(
    arguments: [
      ("signed-out", .failing(.tipsSignedOut(generation: 4, reason: "the account signed out"))),
      ("suspended", .failing(.tipsSuspended(reason: "the store was copied from another machine"))),
      ("unavailable", .failing(.unavailable(reason: "no route to host", retryAfterSeconds: 120))),
      ("stale", .reply(Entry(tip: Samples.tip, provenance: Samples.stale))),
    ] as [(String, Answer)])
  func `what goes wrong is said just so`(name: String, answer: Answer) async throws {
    let daemon = try await ScriptedDaemon([.today: answer])
    try ExpectedOutput().check("tip-\(name)", ["tip"], daemon)
    await daemon.stop()
  }
}
