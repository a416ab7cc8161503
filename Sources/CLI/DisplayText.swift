import JSON

/// The one way by which words of the daemon, the upstream or the caller reach a terminal (I10): the
/// shared sanitiser, and what only a screen needs besides.
package enum DisplayText {
  /// More marks on one base than any script needs are a way to draw over other lines.
  private static let marksPerBase = 4

  /// On one line: line breaks and tabs become spaces.
  package static func line(_ text: String) -> String {
    TextSanitizer.clean(bounded(text), limit: .max, lines: .joined)
  }

  /// Line breaks stay.
  package static func block(_ text: String) -> String {
    TextSanitizer.clean(bounded(text), limit: .max, lines: .kept)
  }

  private static func bounded(_ text: String) -> String {
    // Almost every text is plain, and has nothing to be looked at.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    var result = String.UnicodeScalarView()
    var marks = 0
    for scalar in text.unicodeScalars {
      if isMark(scalar) {
        marks += 1
        if marks <= marksPerBase { result.append(scalar) }
      } else {
        marks = 0
        // The one-character forms of ESC sequences: each would have the whole rest searched for
        // its end.
        result.append(
          (0x80...0x9F).contains(scalar.value) && scalar != "\u{85}" ? "\u{FFFD}" : scalar)
      }
    }
    return String(result)
  }

  /// Whether JSON for a terminal may carry this scalar unescaped.
  package static func isPlainInJSON(_ scalar: Unicode.Scalar) -> Bool {
    if (0x20..<0x7F).contains(scalar.value) { return true }
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator: return false
    default: return true
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x300 { return false }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return true
    default: return false
    }
  }
}
