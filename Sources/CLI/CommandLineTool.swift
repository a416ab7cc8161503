import BrewlogAPI

/// `brewlogctl` from its arguments to its exit code.
package enum CommandLineTool {
  /// `connect` makes the port to the daemon; nothing is opened before a command needs it.
  package static func run(
    _ words: [String], environment: CLIEnvironment,
    sink: @escaping (CommandOutput.Channel, String) -> Void,
    connect: @escaping (SocketPlace) -> any DaemonPort
  ) -> ExitCode {
    let colour = colourChoice(words)
    let output = CommandOutput(
      appearance: Appearance(
        terminal: environment.standardOutputIsTerminal,
        colour: environment.wantsColour(colour, terminal: environment.standardOutputIsTerminal),
        unicode: environment.unicode, width: environment.width,
        redraws: environment.standardOutputIsTerminal && environment.variables["TERM"] != "dumb"),
      errorColour: environment.wantsColour(colour, terminal: environment.standardErrorIsTerminal),
      sink: sink)
    do throws(CommandFailure) {
      return try run(words, environment, output, connect)
    } catch {
      output.failure(error)
      return error.exit
    }
  }

  private static func run(
    _ words: [String], _ environment: CLIEnvironment, _ output: CommandOutput,
    _ connect: @escaping (SocketPlace) -> any DaemonPort
  ) throws(CommandFailure) -> ExitCode {
    let arguments = try ParsedArguments(words, commands: CommandTable.all)
    if let colour = arguments.value("--color"), ColourChoice(rawValue: colour) == nil {
      throw CommandFailure(
        .usage, "--color is auto, always or never, not \"\(colour)\"",
        remedy: "How it is used: brewlogctl --help")
    }
    if arguments.has("--version") {
      output.line(StyledText("brewlogctl \(ProductVersion.text)"))
      return .done
    }
    if arguments.has("--help") {
      if let command = arguments.command {
        Help.command(command, output)
      } else {
        Help.overview(output)
      }
      return .done
    }
    guard let command = arguments.command else {
      throw arguments.usage("no command was given; begin with: brewlogctl status")
    }
    let place = try SocketPlace(
      socket: arguments.value("--socket"), user: arguments.has("--user"),
      instance: arguments.value("--instance"), environment: environment)
    return try command.run(
      CommandContext(
        arguments: arguments, environment: environment, place: place, output: output,
        connect: connect))
  }

  /// Wanted before the arguments are known to be right, since their errors are coloured too.
  private static func colourChoice(_ words: [String]) -> ColourChoice {
    for (index, word) in words.enumerated() {
      if word.hasPrefix("--color=") {
        return ColourChoice(rawValue: String(word.dropFirst(8))) ?? .auto
      }
      if word == "--color", index + 1 < words.count {
        return ColourChoice(rawValue: words[index + 1]) ?? .auto
      }
    }
    return .auto
  }
}
