import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1)))
struct SyntaxTests {
  private func assignments(_ text: String) -> [String] {
    ConfigurationText(Array(text.utf8), file: "f").assignments.map {
      "\($0.origin) [\($0.section)] \($0.key)=\($0.value)"
    }
  }

  @Test func `sections, comments, blank lines and white space`() {
    let text = "\u{FEFF}# a\n; b\n\n[A]\n  Key =  some value \t\r\n[B]\nOther=\n[A]\nKey=x=y"
    #expect(
      assignments(text) == ["f:5 [A] Key=some value", "f:7 [B] Other=", "f:9 [A] Key=x=y"])
  }

  @Test func `a line goes on after a backslash, past comments between`() {
    #expect(
      assignments("[A]\nKey=one \\\n  # not this \\\n  two\\\n\tthree\nNext=\\") == [
        "f:2 [A] Key=one two three", "f:6 [A] Next=",
      ])
    #expect(assignments("[A]\n# no \\\nKey=1\nOther=a\\\\\nLast=2").count == 3)
  }

  @Test(arguments: [
    ("Key=1", "f:1: Key=: it stands before any [Section]"),
    ("[A\n", "f:1: \"[A\" is not a section such as [Upstream]"),
    ("[]\n", "f:1: \"[]\" is not a section such as [Upstream]"),
    ("[A]\nwords", "f:2: \"words\" is not Key=value"),
    ("[A]\n=x", "f:2: \"=x\" is not Key=value"),
    ("[A]\n\u{1b}[31m", "f:2: \"\\u{1b}[31m\" is not Key=value"),
    ("[A]\na\u{0}b=1", "f:2: the line is not UTF-8 text"),
  ])
  func `what has no form is named with its line`(text: String, problem: String) {
    let parsed = ConfigurationText(Array(text.utf8), file: "f")
    #expect(parsed.problems.map(\.description) == [problem])
  }

  @Test func `bytes that are no UTF-8 spoil their line alone`() {
    let bytes = Array("[A]\nKey=".utf8) + [0xFF] + Array("\nOther=1".utf8)
    let text = ConfigurationText(bytes, file: "f")
    #expect(text.problems.map(\.line) == [2])
    #expect(text.assignments.map(\.key) == ["Other"])
  }
}
