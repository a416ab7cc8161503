package import Execution

/// What a command sees of the world besides the daemon. A value, so that a test says what the
/// world is like.
package struct CLIEnvironment: Sendable {
  package var variables: [String: String]
  package var uid: UInt32
  package var standardInputIsTerminal: Bool
  package var standardOutputIsTerminal: Bool
  package var standardErrorIsTerminal: Bool
  /// The terminal's columns, where there is a terminal that says so.
  package var terminalColumns: Int?
  package var now: @Sendable () -> WallTime
  /// Seconds east of UTC at a moment, here.
  package var utcOffset: @Sendable (WallTime) -> Int
  /// At most so many bytes of standard input and one more, which tells that there were too many.
  package var readInput: @Sendable (_ limit: Int) -> [UInt8]
  /// The uid of a user by name.
  package var uidOfUser: @Sendable (String) -> UInt32?
  /// The name of the group that owns a file.
  package var groupOfFile: @Sendable (String) -> String?

  package init(
    variables: [String: String], uid: UInt32, standardInputIsTerminal: Bool,
    standardOutputIsTerminal: Bool, standardErrorIsTerminal: Bool, terminalColumns: Int?,
    now: @escaping @Sendable () -> WallTime, utcOffset: @escaping @Sendable (WallTime) -> Int,
    readInput: @escaping @Sendable (Int) -> [UInt8],
    uidOfUser: @escaping @Sendable (String) -> UInt32?,
    groupOfFile: @escaping @Sendable (String) -> String?
  ) {
    self.variables = variables
    self.uid = uid
    self.standardInputIsTerminal = standardInputIsTerminal
    self.standardOutputIsTerminal = standardOutputIsTerminal
    self.standardErrorIsTerminal = standardErrorIsTerminal
    self.terminalColumns = terminalColumns
    self.now = now
    self.utcOffset = utcOffset
    self.readInput = readInput
    self.uidOfUser = uidOfUser
    self.groupOfFile = groupOfFile
  }

  /// The first of these that is set decides, as in every program (POSIX, 8.2).
  var unicode: Bool {
    let locale =
      ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { variables[$0] }.first { !$0.isEmpty } ?? "C"
    let name = locale.lowercased()
    return name.contains("utf-8") || name.contains("utf8")
  }

  func wantsColour(_ choice: ColourChoice, terminal: Bool) -> Bool {
    switch choice {
    case .always: true
    case .never: false
    case .auto:
      terminal && (variables["NO_COLOR"] ?? "").isEmpty && variables["TERM"] != "dumb"
    }
  }

  /// The terminal's own word, else COLUMNS, else 80; never so narrow that nothing fits.
  var width: Int {
    let columns = terminalColumns ?? variables["COLUMNS"].flatMap { Int($0) } ?? 80
    return min(max(columns, 20), 1000)
  }
}

/// `--color`.
package enum ColourChoice: String, CaseIterable, Sendable {
  case auto, always, never
}
