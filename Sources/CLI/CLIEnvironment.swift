package import Execution

/// What a command sees of the world besides the daemon. A value, so that a test says what the
/// world is like.
package struct CLIEnvironment: Sendable {
  package var variables: [String: String]
  package var uid: UInt32
  package var standardInputIsTerminal: Bool
  package var standardOutputIsTerminal: Bool
  package var standardErrorIsTerminal: Bool
  /// How large the terminal is, where there is one that says so; asked again after SIGWINCH.
  package var terminalSize: @Sendable () -> TerminalSize?
  package var now: @Sendable () -> WallTime
  /// Seconds east of UTC at a moment, here.
  package var utcOffset: @Sendable (WallTime) -> Int
  /// At most so many bytes of standard input and one more, which tells that there were too many.
  package var readInput: @Sendable (_ limit: Int) -> [UInt8]
  /// The uid of a user by name.
  package var uidOfUser: @Sendable (String) -> UInt32?
  /// The name of the group that owns a file.
  package var groupOfFile: @Sendable (String) -> String?
  /// Takes these signals from now on; nil where a test stands in for the terminal.
  package var catchSignals: @Sendable ([Int32]) -> CaughtSignals? = { _ in nil }
  /// What a person types: a descriptor to wait for, and what can be read from it; empty at its end.
  package var inputDescriptor: Int32?
  package var readTyped: @Sendable () -> [UInt8] = { [] }
  /// Shows an address in the person's browser; false where there is none.
  package var openBrowser: @Sendable (String) -> Bool = { _ in false }
  /// Waits that long, or until one of the descriptors has something, which is then returned.
  package var pause: @Sendable (Duration, [Int32]) -> Int32? = { CLIEnvironment.wait($0, for: $1) }

  package init(
    variables: [String: String], uid: UInt32, standardInputIsTerminal: Bool,
    standardOutputIsTerminal: Bool, standardErrorIsTerminal: Bool,
    terminalSize: @escaping @Sendable () -> TerminalSize?,
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
    self.terminalSize = terminalSize
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
    let columns = terminalSize()?.columns ?? variables["COLUMNS"].flatMap { Int($0) } ?? 80
    return min(max(columns, 20), 1000)
  }
}

/// In characters.
package struct TerminalSize: Equatable, Sendable {
  package var columns: Int
  package var rows: Int

  package init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
  }
}

/// `--color`.
package enum ColourChoice: String, CaseIterable, Sendable {
  case auto, always, never
}
