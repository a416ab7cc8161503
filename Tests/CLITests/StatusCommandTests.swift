import BrewlogAPI
import CLI
import JSON
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct StatusCommandTests {
  private func answers(
    _ status: StatusReply, tip: Answer = .reply(Samples.entry)
  ) -> [APIMethod: Answer] {
    [
      .status: .reply(status), .today: tip, .health: .reply(Samples.health),
      .explain: .reply(Samples.explain),
    ]
  }

  @Test(arguments: [40, 80, 200])
  func `one screen says who, until when, what, how, and what to do`(width: Int) async throws {
    let daemon = try await ScriptedDaemon(answers(Samples.status))
    var invocation = Invocation("status", "--color", "never")
    (invocation.width, invocation.terminal) = (width, true)
    let outcome = invocation.on(daemon)
    #expect(outcome.exit == .done)
    #expect(outcome.lines.allSatisfy { DisplayWidth.of($0) <= width }, "\(outcome.out)")
    let words = outcome.out.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for expected in [
      "signed in as ada@example.org, since 2026-11-28 09:12", "https://api.example.org",
      "good for 12 min (14:12)", "next in 11 min (14:11)", "last 48 min ago (13:12)",
      "needed again in 27 days", "Rinse the paper filter first fetched 3 min ago",
      "all 2 checks pass; running for 2 h 5 min", "Signed in, and refreshed 48 min ago.",
      "To do nothing",
    ] {
      #expect(words.contains(expected), "\(expected) in \(outcome.out)")
    }
    await daemon.stop()
  }

  @Test func `the next sign-in is said with what it goes by`() async throws {
    var status = Samples.status
    status.session.loginNeededBasis = "the upstream says that the refresh token ends then"
    let daemon = try await ScriptedDaemon(answers(status))
    let lines = Invocation("status", "--color", "never").on(daemon).lines
    let row = try #require(lines.firstIndex { $0.hasPrefix("Sign-in") })
    #expect(lines[row + 1].contains("the upstream says that the refresh token ends then"))
    await daemon.stop()
  }

  @Test func `the tip is asked for without going upstream`() async throws {
    let daemon = try await ScriptedDaemon(answers(Samples.status))
    _ = Invocation("status").on(daemon)
    let call = daemon.received.first { $0.method == "org.brewlog.Tips.Today" }
    #expect(call?.parameters == ["cacheOnly": true, "waitSeconds": 0])
    await daemon.stop()
  }

  @Test func `signed out, it says why and how to sign in, without a tip`() async throws {
    let daemon = try await ScriptedDaemon([
      .status: .reply(
        StatusReply(
          session: Samples.signedOut, counters: Samples.counters, pendingRevocations: 1)),
      .health: .reply(Samples.health),
    ])
    let outcome = Invocation("status").on(daemon)
    #expect(outcome.exit == .done)
    #expect(outcome.out.contains("signed out: the account signed out"))
    #expect(outcome.out.contains("sign in: brewlogctl login"))
    #expect(outcome.out.contains("1 old session still to be revoked"))
    #expect(!outcome.out.contains("Token"))
    await daemon.stop()
  }

  @Test func `what fails beside the session leaves the rest of the screen`() async throws {
    let daemon = try await ScriptedDaemon([.status: .reply(Samples.status)])
    let outcome = Invocation("status").on(daemon)
    #expect(outcome.exit == .done)
    #expect(outcome.out.contains("does not offer org.brewlog.Service.Health yet"))
    #expect(outcome.out.contains("signed in as ada@example.org"))
    await daemon.stop()
  }

  @Test func `no tip cached, a failed check, a refresh held back`() async throws {
    var session = Samples.signedIn
    session.activity = .backingOff
    session.lastRefreshError = "the token endpoint answered 503"
    session.durable = false
    session.accountVerified = false
    let health = HealthReply(
      ready: false, checks: [Check(name: "store", ok: false, detail: "the disk is full")],
      uptimeSeconds: 5)
    let daemon = try await ScriptedDaemon([
      .status: .reply(
        StatusReply(session: session, counters: Samples.counters, pendingRevocations: 0)),
      .today: .failing(.unavailable(reason: "nothing cached")), .health: .reply(health),
    ])
    let outcome = Invocation("status").on(daemon)
    for expected in [
      "none cached", "1 of 1 check need a look", "store: the disk is full",
      "held back after a failure", "the token endpoint answered 503", "could not be written",
      "(as the import said)",
    ] {
      #expect(outcome.out.contains(expected), "\(expected) in \(outcome.out)")
    }
    await daemon.stop()
  }

  @Test func `JSON is the status alone`() async throws {
    let daemon = try await ScriptedDaemon(answers(Samples.status))
    let outcome = Invocation("status", "--json").on(daemon)
    #expect(try JSONText.decode(StatusReply.self, from: outcome.out.utf8) == Samples.status)
    #expect(daemon.received.count == 1)
    await daemon.stop()
  }

  @Test(arguments: [40, 80, 200])
  func `disk and memory stand side by side, and differences are marked`(
    width: Int
  ) async throws {
    var persisted = Samples.signedIn
    persisted.accessTokenFingerprint = "00000000"
    persisted.rotations = 40
    persisted.nextRefreshAt = nil
    let reply = InspectReply(
      persisted: persisted, inMemory: Samples.signedIn, consistent: false, store: Samples.store)
    let daemon = try await ScriptedDaemon([.inspect: .reply(reply)])
    var invocation = Invocation("session", "--color", "never")
    (invocation.width, invocation.terminal) = (width, true)
    let outcome = invocation.on(daemon)
    #expect(outcome.exit == .done)
    #expect(outcome.lines.allSatisfy { DisplayWidth.of($0) <= width }, "\(outcome.out)")
    let marked = outcome.lines.filter { $0.hasPrefix("! ") }
    #expect(marked.count == 2)
    #expect(marked[0].hasPrefix("! access token"))
    #expect(marked[1].hasPrefix("! rotations"))
    for expected in ["00000000", "a1b2c3d4", "e5f60718", "40 KiB", "17", "differ"] {
      #expect(outcome.out.contains(expected), "\(expected) in \(outcome.out)")
    }
    await daemon.stop()
  }

  @Test func `health has an exit status for scripts`() async throws {
    var health = Samples.health
    let well = try await ScriptedDaemon([.health: .reply(health)])
    #expect(Invocation("health").on(well).exit == .done)
    await well.stop()
    health.ready = false
    let ill = try await ScriptedDaemon([.health: .reply(health)])
    #expect(Invocation("health").on(ill).exit == .failed)
    #expect(Invocation("--json", "health").on(ill).exit == .failed)
    await ill.stop()
  }

  @Test func `findings and refusals are failures for scripts`() async throws {
    let daemon = try await ScriptedDaemon([
      .verifyErasure: .reply(
        VerifyErasureReply(clean: false, findings: ["session.db: an unwiped page"])),
      .canI: .reply(
        CanIReply(allowed: false, rule: "Control=root", remedy: "add yourself to Control=")),
    ])
    let erasure = Invocation("verify-erasure").on(daemon)
    #expect(erasure.exit == .failed)
    #expect(erasure.out.contains("1 trace of earlier sessions"))
    let rights = Invocation("can-i", "logout").on(daemon)
    #expect(rights.exit == .failed)
    #expect(rights.out == "No: Control=root\nTo allow it: add yourself to Control=\n")
    #expect(daemon.received.last?.parameters == ["method": "org.brewlog.Session.Logout"])
    await daemon.stop()
  }

  @Test func `events of kinds that are not known are shown by their names`() async throws {
    let event = Event(
      sequence: 1, at: "2026-11-30T13:12:00Z", kind: .unknown("beansRoasted"), generation: 3,
      detail: "dark", actorUid: 1000)
    let daemon = try await ScriptedDaemon([
      .history: .reply(HistoryReply(events: [event])),
      .watch: .stream { stream in
        let bytes = (try? JSONText.encode(WatchReply(event: event))) ?? []
        try? stream.send(bytes)
        return .success(bytes)
      },
    ])
    let line = "2026-11-30 13:12:00  beansRoasted           gen 3  dark (by uid 1000)\n"
    #expect(Invocation("history").on(daemon).out == line)
    #expect(Invocation("watch", "--after", "7").on(daemon).out == line + line)
    #expect(Invocation("--json", "watch").on(daemon).lines.count == 2)
    #expect(daemon.received[1].parameters == ["afterSequence": 7])
    await daemon.stop()
  }

  @Test func `configuration is shown as it would be written`() async throws {
    let settings = [
      Setting(section: "Upstream", key: "BaseURL", value: "https://x", origin: "a.conf:3"),
      Setting(section: "Log", key: "Level", value: "info", origin: "default"),
    ]
    let daemon = try await ScriptedDaemon([
      .configuration: .reply(ConfigurationReply(settings: settings)),
      .reload: .reply(ReloadReply(changed: [])),
      .metrics: .reply(MetricsReply(openMetrics: "# TYPE a counter\na_total 1\n# EOF\n")),
    ])
    #expect(
      Invocation("config").on(daemon).out
        == "[Upstream]\nBaseURL=https://x  # a.conf:3\n\n[Log]\nLevel=info  # default\n")
    #expect(Invocation("reload").on(daemon).out == "Reloaded; nothing has changed.\n")
    #expect(Invocation("metrics").on(daemon).out == "# TYPE a counter\na_total 1\n# EOF\n")
    await daemon.stop()
  }

  @Test func `metrics have an older format for what reads no other`() async throws {
    let openMetrics = """
      # TYPE brewlog_a counter
      # HELP brewlog_a How many brewlog_a there are.
      brewlog_a_total{kind="# TYPE x info"} 1
      # TYPE brewlog_build info
      # HELP brewlog_build The daemon.
      brewlog_build_info{version="1"} 1
      # TYPE brewlog_s stateset
      # HELP brewlog_s The state.
      brewlog_s{brewlog_s="on"} 1
      # TYPE brewlog_d_seconds histogram
      # UNIT brewlog_d_seconds seconds
      # HELP brewlog_d_seconds How long.
      brewlog_d_seconds_bucket{le="+Inf"} 2
      # EOF

      """
    let daemon = try await ScriptedDaemon([
      .metrics: .reply(MetricsReply(openMetrics: openMetrics))
    ])
    #expect(
      Invocation("metrics", "--prometheus").on(daemon).out == """
        # TYPE brewlog_a_total counter
        # HELP brewlog_a_total How many brewlog_a there are.
        brewlog_a_total{kind="# TYPE x info"} 1
        # TYPE brewlog_build_info gauge
        # HELP brewlog_build_info The daemon.
        brewlog_build_info{version="1"} 1
        # TYPE brewlog_s gauge
        # HELP brewlog_s The state.
        brewlog_s{brewlog_s="on"} 1
        # TYPE brewlog_d_seconds histogram
        # HELP brewlog_d_seconds How long.
        brewlog_d_seconds_bucket{le="+Inf"} 2

        """)
    await daemon.stop()
  }
}
