/// A JSON Pointer (RFC 6901): where in an answer a field stands.
package struct JSONPointer: Hashable, Sendable {
  package let segments: [String]

  /// Nil unless the text is empty or begins with a slash, with `~` only in `~0` and `~1`.
  package init?(_ text: String) {
    guard text.isEmpty || text.hasPrefix("/") else { return nil }
    var segments: [String] = []
    for part in text.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      guard let segment = Self.unescape(part) else { return nil }
      segments.append(segment)
    }
    self.segments = segments
  }

  private static func unescape(_ part: Substring) -> String? {
    var plain = ""
    var rest = part[...]
    while let character = rest.popFirst() {
      guard character == "~" else {
        plain.append(character)
        continue
      }
      switch rest.popFirst() {
      case "0": plain.append("~")
      case "1": plain.append("/")
      default: return nil
      }
    }
    return plain
  }

  /// The value that it points to; an array's elements are named by their index.
  package func value(in root: JSONValue) -> JSONValue? {
    var present = root
    for segment in segments {
      switch present {
      case .object(let members):
        guard let member = members[segment] else { return nil }
        present = member
      case .array(let elements):
        guard let index = Int(segment), String(index) == segment, elements.indices.contains(index)
        else { return nil }
        present = elements[index]
      default: return nil
      }
    }
    return present
  }
}
