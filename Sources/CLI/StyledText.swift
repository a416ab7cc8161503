/// How a piece of text stands out where colour is wanted.
package enum Tone: Sendable {
  case plain, strong, faint, good, warning, bad, accent
  /// Black on white, whatever the theme: cameras want a QR code so. And the dark of one.
  case code, codeDark

  /// SGR parameters (ECMA-48, 8.3.117), from the sixteen colours that every theme has.
  var escape: String? {
    switch self {
    case .plain: nil
    case .strong: "\u{1B}[1m"
    case .faint: "\u{1B}[2m"
    case .good: "\u{1B}[32m"
    case .warning: "\u{1B}[33m"
    case .bad: "\u{1B}[31m"
    case .accent: "\u{1B}[36m"
    case .code: "\u{1B}[30;107m"
    case .codeDark: "\u{1B}[40m"
    }
  }
}

/// A line for a person. Its words are sanitised when it is made, and only its own tones are turned
/// into escape sequences, so no command can let foreign ones through by mistake (I10).
package struct StyledText: Sendable, ExpressibleByStringLiteral {
  private var runs: [(text: String, tone: Tone)]

  package init(_ text: String, _ tone: Tone = .plain) {
    runs = [(DisplayText.line(text), tone)]
  }

  package init(stringLiteral value: String) {
    self.init(value)
  }

  package static func + (left: StyledText, right: StyledText) -> StyledText {
    var sum = left
    sum.runs += right.runs
    return sum
  }

  /// In characters that can be shown here.
  func folded(by appearance: Appearance) -> StyledText {
    var copy = self
    copy.runs = runs.map { (appearance.line($0.text), $0.tone) }
    return copy
  }

  /// Cut at the end of a line.
  func clipped(to width: Int, _ appearance: Appearance) -> StyledText {
    if self.width <= width { return self }
    var copy = self
    copy.runs = []
    var left = width
    for run in runs where left > 0 {
      let text = TextLayout.clip(run.text, to: left, mark: appearance.ellipsis)
      left -= DisplayWidth.of(text)
      copy.runs.append((text, run.tone))
      if text != run.text { break }
    }
    return copy
  }

  /// The first run's tone stands for the whole where lines are broken anew.
  var tone: Tone { runs.first?.tone ?? .plain }

  package var width: Int { runs.reduce(0) { $0 + DisplayWidth.of($1.text) } }

  package var plain: String { runs.map(\.text).joined() }

  func rendered(colour: Bool) -> String {
    guard colour else { return plain }
    return runs.map { run in
      run.tone.escape.map { $0 + run.text + "\u{1B}[0m" } ?? run.text
    }.joined()
  }
}
