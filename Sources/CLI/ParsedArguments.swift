import Configuration
import Execution

/// The arguments of one invocation, taken apart by what the command declares.
package struct ParsedArguments: Sendable {
  package private(set) var command: Command?
  package private(set) var operands: [String] = []
  private var values: [String: String] = [:]
  private var flags: Set<String> = []

  package static let globalOptions: [OptionSpec] = [
    OptionSpec("--socket", "PATH", "the daemon's socket; wins over --user and --instance"),
    OptionSpec("--user", nil, "the daemon of this user, not the system's"),
    OptionSpec("--instance", "NAME", "the daemon that keeps the account NAME"),
    OptionSpec("--json", nil, "print the replies' parameters, one object a line"),
    OptionSpec("--color", "WHEN", "auto, always or never"),
    OptionSpec("--help", nil, "show help"),
    OptionSpec("--version", nil, "show the version"),
  ]

  /// Whether an option without a value was given.
  package func has(_ name: String) -> Bool { flags.contains(name) }

  package func value(_ name: String) -> String? { values[name] }

  /// `--opt value` and `--opt=value`; global options stand anywhere; `--` ends the options.
  package init(_ arguments: [String], commands: [Command]) throws(CommandFailure) {
    var rest = arguments[...]
    var literal = false
    while let argument = rest.popFirst() {
      if literal || !argument.hasPrefix("-") || argument == "-" {
        try take(operand: argument, commands: commands)
      } else if argument == "--" {
        literal = true
      } else {
        try take(option: argument, rest: &rest)
      }
    }
    guard let command, !has("--help") else { return }
    if let missing = command.operands.dropFirst(operands.count).first, !missing.optional {
      throw usage("\(command.name) needs \(missing.name)")
    }
  }

  private mutating func take(
    operand: String, commands: [Command]
  ) throws(CommandFailure) {
    guard let command else {
      if operand == "help" {
        flags.insert("--help")
        return
      }
      guard let found = commands.first(where: { $0.name == operand }) else {
        let hint = Nearest.hint(operand, in: commands.map(\.name))
        throw usage("there is no command \"\(operand)\"\(hint)")
      }
      self.command = found
      return
    }
    if operands.count == command.operands.count {
      if let refusal = command.refusal { throw usage(refusal) }
      throw usage("\(command.name) takes nothing more, but was given \"\(operand)\"")
    }
    operands.append(operand)
  }

  private mutating func take(
    option: String, rest: inout ArraySlice<String>
  ) throws(CommandFailure) {
    let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts[0] == "-h" ? "--help" : String(parts[0])
    let specs = Self.globalOptions + (command?.options ?? [])
    guard let spec = specs.first(where: { $0.name == name }) else {
      if let refusal = command?.refusal, name.lowercased().contains("token") {
        throw usage(refusal)
      }
      if command?.refusal != nil, name.count > 24 || !name.hasPrefix("--") {
        throw usage("there is no such option")
      }
      throw usage("there is no option \(name)\(Nearest.hint(name, in: specs.map(\.name)))")
    }
    guard let placeholder = spec.value else {
      if parts.count > 1 {
        throw usage(command?.refusal ?? "\(name) takes no value")
      }
      flags.insert(name)
      return
    }
    if parts.count > 1 {
      values[name] = String(parts[1])
    } else if let next = rest.popFirst() {
      values[name] = next
    } else {
      throw usage("\(name) needs \(placeholder)")
    }
  }

  /// A mistake in the arguments, with the place where they are explained.
  package func usage(_ problem: String) -> CommandFailure {
    let help = command.map { "brewlogctl \($0.name) --help" } ?? "brewlogctl --help"
    return CommandFailure(.usage, problem, remedy: "How it is used: \(help)")
  }

  /// A whole number in a range.
  package func integer(
    _ name: String, _ text: String, in range: ClosedRange<Int>
  ) throws(CommandFailure) -> Int {
    guard let number = Int(text), range.contains(number) else {
      throw usage(
        "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\""
      )
    }
    return number
  }

  package func optionalInteger(
    _ name: String, in range: ClosedRange<Int>
  ) throws(CommandFailure) -> Int? {
    guard let text = value(name) else { return nil }
    return try integer(name, text, in: range)
  }

  /// A tip's id, as the daemon takes it: a longer one is refused here, in words.
  package func tipID(_ text: String) throws(CommandFailure) -> String {
    guard (1...256).contains(text.utf8.count) else {
      throw usage("a tip's id has 1 to 256 bytes, not \(text.utf8.count)")
    }
    return text
  }

  /// A time span in whole seconds.
  package func optionalSpan(_ name: String) throws(CommandFailure) -> Int? {
    guard let text = value(name) else { return nil }
    guard let seconds = TimeSpan.parse(text)?.secondsRoundedUp else {
      throw usage("\(name) is a time span such as \"90s\" or \"1h 30min\", not \"\(text)\"")
    }
    return seconds
  }
}
