/// One `Key=value` as it stands in a file, the key not yet looked at.
struct Assignment: Equatable, Sendable {
  var section: String
  var key: String
  /// Without the white space around it; continuation lines joined by a space each.
  var value: String
  var origin: Origin
}

/// The form of systemd's configuration files (systemd.syntax(7)): sections, assignments, comments,
/// and lines that go on after a backslash. What the names mean is not known here.
struct ConfigurationText {
  private(set) var assignments: [Assignment] = []
  /// Every section's header, also of those without an assignment.
  private(set) var sections: [(name: String, origin: Origin)] = []
  private(set) var problems: [ConfigurationError.Problem] = []

  private let file: String
  private var section: String?
  /// What has come of a line that goes on, and where it began.
  private var pending: (text: String, line: Int)?

  init(_ bytes: [UInt8], file: String) {
    self.file = file
    var content = bytes[...]
    // A byte order mark, as some editors put it.
    if content.starts(with: [0xEF, 0xBB, 0xBF]) { content = content.dropFirst(3) }
    let lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() { take(line, number: index + 1) }
    if let pending { interpret(pending.text, number: pending.line) }
  }

  private mutating func take(_ bytes: ArraySlice<UInt8>, number: Int) {
    guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
      problems.append(.init(at: .line(file: file, line: number), "the line is not UTF-8 text"))
      return
    }
    let line = trimmed(text)
    // A comment does not end the line that it stands in the middle of, and is never continued.
    if line.hasPrefix("#") || line.hasPrefix(";") { return }
    let start = pending?.line ?? number
    let joined = (pending?.text ?? "") + line
    pending = nil
    // Two backslashes are one that was escaped.
    if line.reversed().prefix(while: { $0 == "\\" }).count % 2 == 1 {
      pending = (trimmed(joined.dropLast()) + " ", start)
    } else {
      interpret(joined, number: start)
    }
  }

  private mutating func interpret(_ text: String, number: Int) {
    let line = trimmed(text)
    let origin = Origin.line(file: file, line: number)
    if line.isEmpty { return }
    if line.hasPrefix("[") {
      guard line.hasSuffix("]"), line.count > 2 else {
        problems.append(.init(at: origin, "\(quoted(line)) is not a section such as [Upstream]"))
        return
      }
      let name = String(line.dropFirst().dropLast())
      section = name
      sections.append((name, origin))
      return
    }
    guard let equals = line.firstIndex(of: "="), equals != line.startIndex else {
      problems.append(.init(at: origin, "\(quoted(line)) is not Key=value"))
      return
    }
    let key = trimmed(line[..<equals])
    guard let section else {
      problems.append(.init(at: origin, key: key, "it stands before any [Section]"))
      return
    }
    let value = trimmed(line[line.index(after: equals)...])
    assignments.append(Assignment(section: section, key: key, value: value, origin: origin))
  }
}

/// The text without the white space around it.
func trimmed(_ text: some StringProtocol) -> String {
  var rest = Substring(text)
  while let first = rest.first, first.isWhitespace { rest.removeFirst() }
  while let last = rest.last, last.isWhitespace { rest.removeLast() }
  return String(rest)
}
