package import JSON

/// What standard output looks like to whoever reads it.
package struct Appearance: Sendable {
  /// A person looks at it, not a program.
  package var terminal: Bool
  package var colour: Bool
  /// Whether characters outside ASCII can be shown.
  package var unicode: Bool
  package var width: Int
  /// Whether a line can be taken back and written anew.
  package var redraws: Bool

  package init(terminal: Bool, colour: Bool, unicode: Bool, width: Int, redraws: Bool) {
    self.terminal = terminal
    self.colour = colour
    self.unicode = unicode
    self.width = width
    self.redraws = redraws
  }

  /// Foreign text on one line, in characters that can be shown here.
  package func line(_ text: String) -> String { folded(DisplayText.line(text)) }

  package func block(_ text: String) -> String { folded(DisplayText.block(text)) }

  package var ellipsis: String { unicode ? "…" : "..." }

  package var dot: String { unicode ? "·" : "-" }

  private func folded(_ text: String) -> String {
    // A pipe gets the bytes as they are: a script in the C locale still wants every letter.
    if unicode || !terminal { return text }
    return String(text.flatMap { $0.isASCII ? String($0) : Self.lookalikes[$0] ?? "?" })
  }

  private static let lookalikes: [Character: String] = [
    "‘": "'", "’": "'", "“": "\"", "”": "\"", "–": "-", "—": "-", "…": "...", "•": "*",
    "·": "-", "→": "->", "×": "x", "\u{A0}": " ",
  ]
}

/// Everything that a command says, on its way out or collected by a test.
package final class CommandOutput {
  package enum Channel: Sendable {
    case standardOutput, standardError
  }

  package let appearance: Appearance
  private let errorColour: Bool
  private let write: (Channel, String) -> Void
  private var hasTransient = false

  package init(
    appearance: Appearance, errorColour: Bool = false,
    sink: @escaping (Channel, String) -> Void
  ) {
    self.appearance = appearance
    self.errorColour = errorColour
    self.write = sink
  }

  private func sink(_ channel: Channel, _ text: String) {
    if hasTransient { transient(nil) }
    write(channel, text)
  }

  /// A line that is replaced by whatever comes next: a countdown, a progress. Nothing where a
  /// terminal cannot do that. Nil takes it away.
  package func transient(_ text: StyledText?) {
    guard appearance.redraws else { return }
    // Carriage return and "erase in line" (ECMA-48, 8.3.41); one column less than there is, or
    // the terminal would begin another line.
    let shown = text.map { $0.folded(by: appearance).clipped(to: appearance.width - 1, appearance) }
    hasTransient = shown != nil
    write(
      .standardOutput, "\r\u{1B}[K" + (shown?.rendered(colour: appearance.colour) ?? ""))
  }

  // MARK: A whole screen (xterm's control sequences, which every terminal of today takes)

  /// Another screen, so that what stood here comes back; no cursor.
  package func beginScreen() { write(.standardOutput, "\u{1B}[?1049h\u{1B}[?25l") }

  package func endScreen() { write(.standardOutput, "\u{1B}[?25h\u{1B}[?1049l") }

  /// In one write, each line erased to its end: nothing flickers.
  package func screen(_ lines: [StyledText]) {
    let text = lines.map {
      $0.folded(by: appearance).rendered(colour: appearance.colour) + "\u{1B}[K"
    }.joined(separator: "\r\n")
    write(.standardOutput, "\u{1B}[H" + text + "\u{1B}[J")
  }

  // MARK: Lines

  package func line(_ text: StyledText = "") {
    sink(.standardOutput, text.rendered(colour: appearance.colour) + "\n")
  }

  /// A question; what is typed stands beside it.
  package func prompt(_ text: StyledText) {
    sink(.standardOutput, text.rendered(colour: appearance.colour))
  }

  /// A sentence, broken where a terminal ends.
  package func paragraph(_ text: StyledText) {
    let width = min(appearance.width, 100)
    let shown = text.folded(by: appearance)
    if !appearance.terminal || shown.width <= width { return line(shown) }
    for part in TextLayout.wrap(shown.plain, to: width) { line(StyledText(part, text.tone)) }
  }

  /// Several lines of foreign text, unchanged but for what a terminal must not see.
  package func block(_ text: String) {
    let shown = appearance.block(text)
    sink(.standardOutput, shown.hasSuffix("\n") ? shown : shown + "\n")
  }

  /// Foreign text set into the caller's own, whose tabs and line breaks are meant.
  package func composed(_ parts: [Part]) {
    let shown = parts.map { part in
      switch part {
      case .foreign(let text): appearance.block(text)
      case .own(let text):
        text.split(separator: "\t", omittingEmptySubsequences: false)
          .map { appearance.block(String($0)) }.joined(separator: "\t")
      }
    }.joined()
    sink(.standardOutput, shown.hasSuffix("\n") ? shown : shown + "\n")
  }

  package enum Part: Sendable {
    case own(String)
    case foreign(String)
  }

  package func note(_ text: StyledText) {
    sink(.standardError, text.rendered(colour: errorColour) + "\n")
  }

  /// One object on a line. What a terminal must not see is escaped, which changes no value: it can
  /// stand only inside strings.
  package func json(_ value: JSONValue) {
    guard let bytes = try? JSONText.encode(value) else { return }
    var text = ""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      if DisplayText.isPlainInJSON(scalar) {
        text.unicodeScalars.append(scalar)
      } else {
        for unit in String(scalar).utf16 {
          let digits = String(unit, radix: 16)
          text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      }
    }
    sink(.standardOutput, text + "\n")
  }

  /// A longer problem repeats an argument that no screen holds.
  private static let longestProblem = 1000

  package func failure(_ failure: CommandFailure) {
    let problem = TextLayout.clip(failure.problem, to: Self.longestProblem, mark: "...")
    note(StyledText("brewlogctl: ", .bad) + StyledText(problem))
    if let remedy = failure.remedy { note(StyledText("  " + remedy)) }
  }
}
