/// One interface: its name, the text that defines it, and the methods it has, by their names
/// without the interface's.
package struct InterfaceDescription: Equatable, Sendable {
  package var name: String
  package var text: String
  package var methods: Set<String>

  /// Takes the methods from the text, so that what is described and what is routed cannot differ.
  package init(name: String, text: String) {
    self.name = name
    self.text = text
    methods = Self.methods(in: text)
  }

  /// The names that follow the word `method` outside comments and parentheses.
  private static func methods(in text: String) -> Set<String> {
    var methods: Set<String> = []
    // By scalars: a CR and the LF behind it are one character, which is neither.
    for line in topLevel(of: text).split(whereSeparator: { $0 == "\n" }) {
      let words = line.split { $0 == " " || $0 == "\t" }.map { String(Substring($0)) }
      if words.count >= 2, words[0] == "method" { methods.insert(words[1]) }
    }
    return methods
  }

  /// The text without comments and without what stands in parentheses; a parenthesis ends a word. All
  /// line ends are LF in it.
  private static func topLevel(of text: String) -> String.UnicodeScalarView {
    var result = String.UnicodeScalarView()
    var depth = 0
    var inComment = false
    for character in text.unicodeScalars {
      switch character {
      case "\n", "\r":
        inComment = false
        result.append("\n")
      case _ where inComment: continue
      case "#": inComment = true
      case "(":
        depth += 1
        result.append(" ")
      case ")":
        // One too many closes nothing.
        depth = max(0, depth - 1)
        result.append(" ")
      case _ where depth == 0: result.append(character)
      default: continue
      }
    }
    return result
  }
}
