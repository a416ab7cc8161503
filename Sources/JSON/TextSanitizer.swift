/// The one way for text from an upstream, a peer or a caller into an error, a log or a terminal
/// (I10). What could move a cursor, change a title, reorder the line or hide in it is taken out;
/// what is left is one bounded piece of printable text.
package enum TextSanitizer {
  package enum Lines: Sendable {
    /// Line ends and tabs become spaces: for errors, logs and status lines.
    case joined
    /// Line ends stay: for a tip's body on a terminal.
    case kept
  }

  /// Stands for a character that was taken out, so that its absence can be seen.
  private static let replacement: Unicode.Scalar = "\u{FFFD}"

  /// `limit` counts Unicode scalars; text past it is cut, with an ellipsis at the end.
  package static func clean(
    _ text: String, limit: Int = 200, lines: Lines = .joined
  ) -> String {
    var output = String.UnicodeScalarView()
    var length = 0
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      guard let kept = replace(scalar, followedBy: &rest, lines: lines) else { continue }
      if length == limit {
        output.append("…")
        break
      }
      output.append(kept)
      length += 1
    }
    return String(output)
  }

  /// Invalid UTF-8 becomes U+FFFD. Only as many bytes are looked at as the limit can need.
  package static func clean(
    _ bytes: some Collection<UInt8>, limit: Int = 200, lines: Lines = .joined
  ) -> String {
    let enough = bytes.prefix(min(limit, 1 << 20) * 16 + 64)
    return clean(String(decoding: Array(enough), as: UTF8.self), limit: limit, lines: lines)
  }

  /// What stands in the output for `scalar`; nil: nothing. An escape sequence is taken off `rest`.
  private static func replace(
    _ scalar: Unicode.Scalar, followedBy rest: inout Substring.UnicodeScalarView, lines: Lines
  ) -> Unicode.Scalar? {
    switch scalar.value {
    case 0x0D:
      // A CR LF pair is one line end.
      if rest.first == "\n" { return nil }
      return lines == .kept ? "\n" : " "
    case 0x0A, 0x85, 0x2028, 0x2029: return lines == .kept ? "\n" : " "
    case 0x09: return " "
    case 0x1B, 0x90, 0x98, 0x9B, 0x9D, 0x9E, 0x9F:
      skipSequence(after: scalar, in: &rest)
      return replacement
    default: return isPrintable(scalar) ? scalar : replacement
    }
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
      false
    // The two joiners are part of words and of emoji; all other format characters are invisible
    // or turn the reading direction.
    case .format: scalar.value == 0x200C || scalar.value == 0x200D
    default: true
    }
  }

  /// ECMA-48: a control sequence ends with a byte in 0x40…0x7E; a string sequence with BEL or ST.
  /// One that has no end loses only its introducer, so that it cannot swallow the text behind it.
  private static func skipSequence(
    after introducer: Unicode.Scalar, in rest: inout Substring.UnicodeScalarView
  ) {
    var kind = introducer.value
    if kind == 0x1B {
      guard let next = rest.first, (0x20...0x7E).contains(next.value) else { return }
      rest.removeFirst()
      switch next {
      case "[": kind = 0x9B
      case "]", "P", "X", "^", "_": kind = 0x9D
      default:
        // Intermediate bytes, then one final byte ("ESC ( B").
        guard next.value < 0x30 else { return }
        while let byte = rest.popFirst(), (0x20...0x2F).contains(byte.value) {}
        return
      }
    }
    if kind == 0x9B {
      let body = rest.prefix { (0x20...0x3F).contains($0.value) }
      let after = rest[body.endIndex...]
      rest = after
      if let final = after.first, (0x40...0x7E).contains(final.value) { rest.removeFirst() }
      return
    }
    guard
      let end = rest.firstIndex(where: { $0.value == 0x07 || $0.value == 0x9C || $0.value == 0x1B })
    else { return }
    let terminator = rest[end]
    rest = rest[rest.index(after: end)...]
    if terminator.value == 0x1B, rest.first == "\\" { rest.removeFirst() }
  }
}
