import BrewlogAPI
import CLI
import JSON
import Testing
import Varlink

/// Whatever an upstream puts into a tip, a terminal gets text (I10).
@Suite(.timeLimit(.minutes(1)))
struct HostileTextTests {
  static let texts: [String] = [
    "a\u{1B}[2Jb", "a\u{1B}]0;title\u{7}b", "a\u{1B}]8;;https://evil.example\u{1B}\\b",
    "a\u{9B}31mb", "a\u{9D}0;x\u{9C}b", "a\u{1B}Pq\u{1B}\\b", "a\u{8}\u{8}b", "a\rb", "a\u{0}b",
    "a\u{7F}b", "a\u{202E}gpj.exe\u{202C}b", "a\u{2066}x\u{2069}b", "a\u{200E}\u{200F}b",
    "a\u{2028}b\u{2029}c", "a\u{FEFF}b", "a\u{E0041}\u{E007F}b", "a\u{85}b", "a\u{B}\u{C}b",
    "a" + String(repeating: "\u{301}\u{336}\u{489}", count: 400) + "b",
    "", " ", "\n\n\n",
    "👩‍👩‍👧‍👦 family 🇪🇺 flag 👍🏽 tone ☕️ cup e\u{301} accent", "ＦＵＬＬ　ｗｉｄｔｈ", "\u{E000}\u{10FFFD}",
  ]

  /// Texts whose length is the attack; 100 kB each.
  static let longTexts: [String] = [
    String(repeating: "\u{9D}", count: 50_000), String(repeating: "\u{1B}]", count: 50_000),
    String(repeating: "W", count: 100_000), String(repeating: "w w ", count: 25_000),
    String(repeating: "漢", count: 33_000), String(repeating: "e\u{301}\u{301}", count: 20_000),
  ]

  @Test(arguments: longTexts)
  func `a title of 100 kB is cut on a card and whole in JSON`(text: String) async throws {
    let tip = Tip(id: "x", title: text, body: "", tags: [])
    let daemon = try await ScriptedDaemon([
      .today: .reply(Entry(tip: tip, provenance: Samples.fresh))
    ])
    var invocation = Invocation("tip", "--color", "never")
    invocation.terminal = true
    let outcome = invocation.on(daemon)
    expectTame(outcome.out, "tip")
    expectFramed(outcome.lines, width: 76, "")
    #expect(outcome.lines.count == 5)
    #expect(outcome.lines[3].contains("…"))
    let json = Invocation("--json", "tip").on(daemon)
    #expect(try JSONText.decode(Entry.self, from: json.out.utf8).tip.title == text)
    await daemon.stop()
  }

  @Test(arguments: texts)
  func `no field of a tip reaches the terminal as more than text`(text: String) async throws {
    let tip = Tip(
      id: text, date: text, title: text, body: text, tags: [text, text], url: text,
      extra: ["x": .string(text)])
    var provenance = Samples.stale
    provenance.staleReason = text
    let entry = Entry(tip: tip, provenance: provenance)
    let daemon = try await ScriptedDaemon([
      .today: .reply(entry), .list: .reply(ListReply(entries: [entry])),
      .get: .failing(.refused(reason: text, httpStatus: 403)),
    ])
    for words in [
      ["tip"], ["tips"], ["tip", "x"], ["tip", "--format", "{title}{body}{url}{freshness}"],
      ["--json", "tip"],
    ] {
      for (terminal, locale, width) in [(true, "C", 40), (true, "C.UTF-8", 80), (false, "C", 80)] {
        var invocation = Invocation()
        (invocation.arguments, invocation.width) = (words, width)
        (invocation.terminal, invocation.locale) = (terminal, locale)
        invocation.variables = ["NO_COLOR": "1"]
        let outcome = invocation.on(daemon)
        expectTame(outcome.out + outcome.err, "\(words)")
        if words == ["tip"], terminal { expectFramed(outcome.lines, width: min(width, 76), locale) }
      }
    }
    await daemon.stop()
  }

  /// A card's framed lines are exactly as wide as the card; those below it may be longer.
  private func expectFramed(_ lines: [String], width: Int, _ locale: String) {
    let frame: Set<Character> = ["│", "╭", "╰", "|", "+"]
    let framed = lines.prefix { $0.first.map { frame.contains($0) } ?? false }
    #expect(framed.count >= 2)
    #expect(framed.allSatisfy { DisplayWidth.of($0) == width }, "\(locale)")
  }

  private func expectTame(_ text: String, _ what: String) {
    var marks = 0
    for scalar in text.unicodeScalars {
      let category = scalar.properties.generalCategory
      let joiner = scalar == "\u{200D}" || scalar == "\u{200C}"
      let isControl = category == .control && scalar != "\n"
      let isHidden = category == .format && !joiner
      let isBreak = category == .lineSeparator || category == .paragraphSeparator
      if isControl && scalar != "\t" || isHidden || isBreak {
        Issue.record("U+\(String(scalar.value, radix: 16)) came through in \(what)")
        return
      }
      marks = category == .nonspacingMark || category == .enclosingMark ? marks + 1 : 0
      if marks > 4, !what.contains("json") {
        Issue.record("\(marks) marks on one letter in \(what)")
        return
      }
    }
  }

  @Test(arguments: texts)
  func `JSON says exactly what the daemon said`(text: String) async throws {
    var entry = Samples.entry
    entry.tip.title = text
    let daemon = try await ScriptedDaemon([.today: .reply(entry)])
    let outcome = Invocation("--json", "tip").on(daemon)
    #expect(try JSONText.decode(Entry.self, from: outcome.out.utf8) == entry)
    #expect(outcome.lines.count == 1)
    await daemon.stop()
  }

  @Test(arguments: texts)
  func `arguments and error names are shown as text, too`(text: String) async throws {
    let daemon = try await ScriptedDaemon([
      .today: .failing(
        .other(VarlinkError(name: "x." + text, parameters: ["parameter": .string(text)]))),
      .history: .reply(
        HistoryReply(events: [
          Event(
            sequence: 1, at: text, kind: .unknown(text), generation: 1, detail: text)
        ])),
      .health: .reply(
        HealthReply(
          ready: true, checks: [Check(name: text, ok: false, detail: text)], uptimeSeconds: 1)),
      .explain: .reply(ExplainReply(sentence: text, nextStep: text, evidence: [])),
      .metrics: .reply(MetricsReply(openMetrics: text)),
    ])
    for words in [
      ["tip"], ["history"], ["health"], ["explain"], ["metrics"], [text], ["tip", "--" + text],
      ["can-i", text], ["rate", "x", text], ["--color", text, "tip"],
    ] {
      var invocation = Invocation()
      (invocation.arguments, invocation.terminal) = (words, true)
      invocation.variables = ["NO_COLOR": "1"]
      let outcome = invocation.on(daemon)
      expectTame(outcome.out + outcome.err, "\(words.first?.prefix(20) ?? "")")
    }
    await daemon.stop()
  }
}
