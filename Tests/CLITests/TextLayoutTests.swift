import BrewlogAPI
import CLI
import Configuration
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TextLayoutTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("ｆ", 2), ("한", 2),
    ("\u{1112}\u{1161}\u{11AB}", 2), ("👍", 2), ("👍🏽", 2), ("👩‍👩‍👧‍👦", 2), ("🇪🇺", 2),
    ("☕", 2), ("☎", 1), ("☎\u{FE0F}", 2), ("─", 1), ("…", 1), ("\u{200D}", 0), ("あ゙", 2),
    ("ไทย", 3), ("हिन्दी", 5),
  ])
  func `width is counted as terminals do`(text: String, columns: Int) {
    #expect(DisplayWidth.of(text) == columns)
  }

  @Test func `lines break at spaces, and inside words that are too long`() {
    #expect(TextLayout.wrap("one two three", to: 7) == ["one two", "three"])
    #expect(TextLayout.wrap("abcdefgh ij", to: 3) == ["abc", "def", "gh", "ij"])
    #expect(TextLayout.wrap("a\n\nb", to: 5) == ["a", "", "b"])
    #expect(TextLayout.wrap("", to: 5) == [""])
    #expect(TextLayout.wrap("漢字漢字", to: 5) == ["漢字", "漢字"])
    #expect(TextLayout.wrap("漢", to: 1) == ["漢"], "what fits nowhere still appears")
  }

  @Test(arguments: 1...30)
  func `no line is wider than asked and no letter is lost`(width: Int) {
    let text = "Ein Text mit 漢字, 👍🏽 und einem Überlängenwortungetüm e\u{301}e\u{301}e\u{301}."
    let lines = TextLayout.wrap(text, to: width)
    #expect(lines.allSatisfy { DisplayWidth.of($0) <= max(2, width) })
    #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
  }

  @Test func `cutting leaves a mark and never half a letter`() {
    #expect(TextLayout.clip("abcdef", to: 6, mark: "…") == "abcdef")
    #expect(TextLayout.clip("abcdefg", to: 6, mark: "…") == "abcde…")
    #expect(TextLayout.clip("漢字漢字", to: 6, mark: "…") == "漢字…")
    #expect(TextLayout.clip("abc", to: 2, mark: "...") == "")
  }

  @Test(
    arguments: [
      ("tpi", "tip"), ("stauts", "status"), ("STATUS", "status"), ("histroy", "history"),
      ("xyz", nil), ("", nil),
    ] as [(String, String?)])
  func `what was meant is found`(word: String, name: String?) {
    #expect(Nearest.match(word, in: CommandTable.all.map(\.name)) == name)
  }

  @Test func `every command has help with an example, and names that no other has`() {
    let commands = CommandTable.all
    #expect(Set(commands.map(\.name)).count == commands.count)
    for command in commands {
      let outcome = Invocation(command.name, "--help").run()
      #expect(outcome.exit == .done)
      #expect(outcome.out.hasPrefix("Usage: brewlogctl \(command.name)"))
      #expect(!command.examples.isEmpty, "\(command.name)")
      for option in command.options { #expect(outcome.out.contains(option.help.prefix(12))) }
    }
    let overview = Invocation("--help").run().out
    for command in commands { #expect(overview.contains("  \(command.name) ")) }
    #expect(overview.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test func `usage errors are told from failures`() {
    #expect(Invocation().run().exit == .usage)
    #expect(Invocation("help", "tip").run().out == Invocation("tip", "--help").run().out)
    #expect(Invocation("--colour", "never").run().err.contains("did you mean --color?"))
    #expect(Invocation("tip", "a", "b").run().exit == .usage)
    #expect(Invocation("tip", "--wait").run().exit == .usage)
    #expect(Invocation("tip", "--cache-only=yes").run().exit == .usage)
    #expect(Invocation("tip", "--wait", "soon").run().exit == .usage)
    #expect(Invocation("--color", "blue", "tip").run().exit == .usage)
    #expect(Invocation("--version").run().out == "brewlogctl \(ProductVersion.text)\n")
  }
}
