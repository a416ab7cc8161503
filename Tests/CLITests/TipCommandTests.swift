import BrewlogAPI
import CLI
import JSON
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct TipCommandTests {
  @Test(arguments: [(40, 40), (80, 76), (200, 76)])
  func `the card's lines are all as wide as the card`(terminal: Int, card: Int) async throws {
    let daemon = try await ScriptedDaemon([.today: .reply(Samples.entry)])
    var invocation = Invocation("tip")
    (invocation.width, invocation.terminal) = (terminal, true)
    invocation.variables = ["NO_COLOR": "1"]
    let outcome = invocation.on(daemon)
    #expect(outcome.exit == .done)
    #expect(outcome.lines.allSatisfy { DisplayWidth.of($0) == card }, "\(outcome.out)")
    #expect(outcome.out.hasPrefix("╭─ Tip of the day"))
    #expect(outcome.out.contains("2026-11-30 · fetched 3 min ago"))
    #expect(outcome.err.isEmpty)
    await daemon.stop()
  }

  @Test func `the C locale gets a card of ASCII`() async throws {
    var tip = Samples.tip
    tip.body = "Crème – “fine”…"
    let daemon = try await ScriptedDaemon([
      .today: .reply(Entry(tip: tip, provenance: Samples.fresh))
    ])
    var invocation = Invocation("tip", "--color", "never")
    (invocation.terminal, invocation.locale) = (true, "C")
    let outcome = invocation.on(daemon)
    #expect(outcome.out.utf8.allSatisfy { $0 < 0x80 })
    #expect(outcome.out.contains("Cr?me - \"fine\"..."))
    #expect(Set(outcome.lines.map(\.count)) == [76])
    await daemon.stop()
  }

  @Test func `a pipe gets plain text, unwrapped, in full`() async throws {
    let daemon = try await ScriptedDaemon([.today: .reply(Samples.entry)])
    var invocation = Invocation("tip")
    invocation.locale = "C"
    let outcome = invocation.on(daemon)
    #expect(
      outcome.out == """
        Rinse the paper filter first

        \(Samples.tip.body)

        tags: filter, basics
        https://example.org/tips/2026-11-30
        2026-11-30 - 2026-11-30 - fetched 3 min ago

        """)
    await daemon.stop()
  }

  @Test func `an old tip says that it is old and why`() async throws {
    let daemon = try await ScriptedDaemon([
      .today: .reply(Entry(tip: Samples.tip, provenance: Samples.stale))
    ])
    for terminal in [true, false] {
      var invocation = Invocation("tip", "--color", "never")
      invocation.terminal = terminal
      let words = invocation.on(daemon).out.split(whereSeparator: \.isWhitespace)
        .joined(separator: " ")
      #expect(words.contains("offline: the upstream's name could not be resolved"))
      #expect(words.contains("(fetched 5 h ago)"))
    }
    await daemon.stop()
  }

  @Test func `colour comes only where it is wanted`() async throws {
    let daemon = try await ScriptedDaemon([.today: .reply(Samples.entry)])
    func escapes(_ words: [String], terminal: Bool, _ variables: [String: String] = [:]) -> Bool {
      var invocation = Invocation("tip")
      invocation.arguments += words
      (invocation.terminal, invocation.variables) = (terminal, variables)
      return invocation.on(daemon).out.contains("\u{1B}[")
    }
    #expect(escapes([], terminal: true))
    #expect(!escapes([], terminal: false))
    #expect(!escapes([], terminal: true, ["NO_COLOR": "1"]))
    #expect(escapes([], terminal: true, ["NO_COLOR": ""]))
    #expect(!escapes([], terminal: true, ["TERM": "dumb"]))
    #expect(!escapes(["--color", "never"], terminal: true))
    #expect(escapes(["--color=always"], terminal: false))
    #expect(escapes(["--color", "always"], terminal: true, ["NO_COLOR": "1"]))
    await daemon.stop()
  }

  @Test func `options become the contract's parameters`() async throws {
    let daemon = try await ScriptedDaemon([
      .today: .reply(Samples.entry), .get: .reply(Samples.entry),
    ])
    _ = Invocation("tip", "--max-age", "1h 30min", "--cache-only", "--wait=1500ms").on(daemon)
    _ = Invocation("tip", "abc").on(daemon)
    let calls = daemon.received
    #expect(calls.map(\.method) == ["org.brewlog.Tips.Today", "org.brewlog.Tips.Get"])
    #expect(
      calls[0].parameters == ["maxAgeSeconds": 5400, "cacheOnly": true, "waitSeconds": 2])
    #expect(calls[1].parameters == ["id": "abc"])
    await daemon.stop()
  }

  @Test func `a template prints the fields that it names`() async throws {
    let daemon = try await ScriptedDaemon([.today: .reply(Samples.entry)])
    let outcome = Invocation("tip", "--format", "{{{title}}}\\t{url}\\n{tags} {age}").on(daemon)
    #expect(
      outcome.out
        == "{Rinse the paper filter first}\thttps://example.org/tips/2026-11-30\nfilter, basics 180\n"
    )
    let wrong = Invocation("tip", "--format", "{titel}").on(daemon)
    #expect(wrong.exit == .usage)
    #expect(wrong.err.contains("did you mean title?"))
    #expect(daemon.received.count == 1, "a wrong template asks nothing")
    await daemon.stop()
  }

  @Test func `JSON output is the reply's parameters on one line`() async throws {
    let daemon = try await ScriptedDaemon([.today: .reply(Samples.entry)])
    var invocation = Invocation("--json", "tip")
    invocation.terminal = true
    let outcome = invocation.on(daemon)
    #expect(outcome.lines.count == 1)
    let entry = try JSONText.decode(Entry.self, from: outcome.out.utf8)
    #expect(entry == Samples.entry)
    await daemon.stop()
  }

  @Test func `the list goes on where the daemon cut it`() async throws {
    let daemon = try await ScriptedDaemon([
      .list: .reply(ListReply(entries: [Samples.entry, Samples.entry], next: "more"))
    ])
    let outcome = Invocation("tips", "--limit", "5").on(daemon)
    #expect(
      daemon.received.map { $0.parameters["limit"] } == [5, 3, 1])
    #expect(daemon.received[1].parameters["before"] == "more")
    #expect(outcome.out.hasPrefix("2026-11-30\t2026-11-30\tRinse the paper filter first\n"))
    await daemon.stop()
  }

  @Test(arguments: [40, 80, 200])
  func `the list fits the terminal`(width: Int) async throws {
    var entry = Samples.entry
    entry.tip.title = String(repeating: "長い題名と", count: 40)
    let daemon = try await ScriptedDaemon([.list: .reply(ListReply(entries: [entry]))])
    var invocation = Invocation("tips", "--color", "never")
    (invocation.width, invocation.terminal) = (width, true)
    let outcome = invocation.on(daemon)
    #expect(outcome.lines.allSatisfy { DisplayWidth.of($0) <= width })
    #expect(outcome.out.contains("…"))
    await daemon.stop()
  }

  @Test func `a rating goes up with its tip`() async throws {
    let daemon = try await ScriptedDaemon([.rate: .reply(EmptyReply())])
    #expect(Invocation("rate", "abc", "4").on(daemon).exit == .done)
    #expect(daemon.received.first?.parameters == ["id": "abc", "rating": 4])
    #expect(Invocation("rate", "abc", "6").on(daemon).exit == .usage)
    #expect(Invocation("rate", "abc").on(daemon).exit == .usage)
    #expect(daemon.received.count == 1)
    await daemon.stop()
  }

  @Test func `a card may be asked for in a pipe, as wide as COLUMNS says`() async throws {
    let daemon = try await ScriptedDaemon([.today: .reply(Samples.entry)])
    var invocation = Invocation("tip", "--card")
    invocation.variables = ["COLUMNS": "50"]
    let outcome = invocation.on(daemon)
    #expect(outcome.lines.first?.hasPrefix("╭─ Tip of the day · 2026-11-30 ─") == true)
    #expect(outcome.lines.allSatisfy { DisplayWidth.of($0) == 50 }, "\(outcome.out)")
    #expect(!outcome.out.contains("\u{1B}"))
    #expect(Invocation("tip", "--card", "--format", "{id}").on(daemon).exit == .usage)
    await daemon.stop()
  }
}
