/// Fits text into columns, measured as a terminal shows it.
package enum TextLayout {
  /// Breaks at spaces, inside a word only where it is wider than a line. Line breaks of the text
  /// stay; the result has at least one line.
  package static func wrap(_ text: String, to width: Int) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).flatMap {
      wrapLine($0, to: max(1, width))
    }
  }

  private static func wrapLine(_ text: Substring, to width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    var used = 0
    for word in text.split(separator: " ") {
      let length = DisplayWidth.of(String(word))
      if used > 0, used + 1 + length <= width {
        line += " " + word
        used += 1 + length
        continue
      }
      if used > 0 { lines.append(line) }
      (line, used) = (String(word), length)
      if length > width {
        var pieces = split(word, at: width)
        line = pieces.removeLast()
        used = DisplayWidth.of(line)
        lines += pieces
      }
    }
    return lines + [line]
  }

  private static func split(_ word: Substring, at width: Int) -> [String] {
    var pieces: [String] = []
    var piece = ""
    var used = 0
    for character in word {
      let columns = DisplayWidth.of(character)
      if used + columns > width, !piece.isEmpty {
        pieces.append(piece)
        (piece, used) = ("", 0)
      }
      piece.append(character)
      used += columns
    }
    return pieces + [piece]
  }

  /// Cut to `width` columns, with a mark at the end where something was left out.
  package static func clip(_ text: String, to width: Int, mark: String) -> String {
    // A text that is many times too long is not measured whole.
    let beginning = text.prefix(width + 1)
    if beginning.endIndex == text.endIndex, DisplayWidth.of(String(beginning)) <= width {
      return text
    }
    var kept = ""
    var used = DisplayWidth.of(mark)
    if used > width { return "" }
    for character in text {
      used += DisplayWidth.of(character)
      if used > width { break }
      kept.append(character)
    }
    return kept + mark
  }

  /// Filled up with spaces to `width` columns.
  package static func pad(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - DisplayWidth.of(text)))
  }
}
