/// An interface file taken apart as far as these tests look at it: declarations with the comment
/// above them.
struct InterfaceText {
  struct Declaration {
    var keyword: String
    var name: String
    var comment: String
    /// Names in the first parentheses (a type's fields, a method's parameters, an error's
    /// parameters), and in those after the arrow.
    var fields: [String]
    var replyFields: [String]
  }

  private(set) var declarations: [Declaration] = []

  init(_ text: String) {
    var comment: [Substring] = []
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    while let line = lines.popFirst() {
      if line.hasPrefix("#") {
        comment.append(line.dropFirst().drop { $0 == " " })
        continue
      }
      let words = line.split { $0 == " " || $0 == "(" }
      guard let keyword = words.first, ["type", "method", "error"].contains(keyword),
        words.count > 1
      else {
        comment = []
        continue
      }
      var body = String(line)
      while Self.depth(body) > 0, let more = lines.popFirst() { body += " " + more }
      let groups = Self.groups(body)
      declarations.append(
        Declaration(
          keyword: String(keyword), name: String(words[1]),
          comment: comment.joined(separator: " "),
          fields: groups.first.map(Self.names) ?? [],
          replyFields: groups.count > 1 ? Self.names(groups[1]) : []))
      comment = []
    }
  }

  func all(_ keyword: String) -> [Declaration] {
    declarations.filter { $0.keyword == keyword }
  }

  private static func depth(_ text: String) -> Int {
    text.reduce(0) { $0 + ($1 == "(" ? 1 : $1 == ")" ? -1 : 0) }
  }

  /// What stands in each outermost pair of parentheses.
  private static func groups(_ text: String) -> [String] {
    var groups: [String] = []
    var depth = 0
    for character in text {
      if character == ")" { depth -= 1 }
      if depth > 0 { groups[groups.count - 1].append(character) }
      if character == "(" {
        if depth == 0 { groups.append("") }
        depth += 1
      }
    }
    return groups
  }

  /// The names before the colons, at the outermost level; an enumeration's values have none.
  private static func names(_ group: String) -> [String] {
    var depth = 0
    var parts = [""]
    for character in group {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      if character == ",", depth == 0 {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character)
      }
    }
    return parts.compactMap { part in
      let words = part.split(separator: ":", maxSplits: 1)
      return words.first.map { String($0.filter { $0 != " " }) }
    }.filter { !$0.isEmpty }
  }
}
