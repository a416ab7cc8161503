/// What `--help` shows, made from the command table so that it cannot be out of date.
package enum Help {
  package static func overview(_ output: CommandOutput) {
    output.line("Usage: brewlogctl [OPTIONS] COMMAND")
    output.line()
    paragraph(
      "Asks brewlogd, which keeps this host's BrewLog session, for tips, and manages the session.",
      output)
    for group in CommandTable.groups {
      output.line()
      output.line(StyledText(group.title + ":", .strong))
      for command in group.commands {
        entry(command.name, command.summary, column: 18, output)
      }
    }
    options(ParsedArguments.globalOptions, title: "Options", output)
    output.line()
    paragraph(
      "Exit status: 0 done, 1 failed or a finding, 2 usage, 3 the daemon cannot be reached, 4 signed "
        + "out or suspended, 5 permission denied, 6 upstream unavailable and nothing cached, 7 "
        + "logged out, but not durably.", output)
    output.line("More about a command: brewlogctl COMMAND --help")
  }

  package static func command(_ command: Command, _ output: CommandOutput) {
    usage(command.synopsis, output)
    output.line()
    output.line(
      StyledText(command.summary.prefix(1).uppercased() + command.summary.dropFirst() + "."))
    if !command.details.isEmpty {
      output.line()
      paragraph(command.details, output)
    }
    options(command.options, title: "Options", output)
    if let terms = command.terms {
      output.line()
      output.line(StyledText(terms.title + ":", .strong))
      for term in terms.entries { entry(term.name, term.help, column: 24, output) }
    }
    if !command.examples.isEmpty {
      output.line()
      output.line(StyledText("Examples:", .strong))
      for example in command.examples {
        output.line(StyledText("  brewlogctl " + example.line))
        output.line(StyledText("      " + example.purpose, .faint))
      }
    }
    output.line()
    output.line("Options for every command: brewlogctl --help")
  }

  private static func paragraph(_ text: String, _ output: CommandOutput) {
    for line in TextLayout.wrap(text, to: width(output)) { output.line(StyledText(line)) }
  }

  /// Broken between options, never inside of one.
  private static func usage(_ parts: [String], _ output: CommandOutput) {
    var line = "Usage: brewlogctl"
    for part in parts {
      if line.count + 1 + part.count > width(output) {
        output.line(StyledText(line))
        line = "        "
      }
      line += " " + part
    }
    output.line(StyledText(line))
  }

  private static func options(_ specs: [OptionSpec], title: String, _ output: CommandOutput) {
    if specs.isEmpty { return }
    output.line()
    output.line(StyledText(title + ":", .strong))
    for spec in specs { entry(spec.synopsis, spec.help, column: 24, output) }
  }

  private static func entry(
    _ name: String, _ text: String, column: Int, _ output: CommandOutput
  ) {
    let lines = TextLayout.wrap(text, to: max(16, width(output) - column))
    for (index, line) in lines.enumerated() {
      let label = index == 0 ? "  " + name : ""
      output.line(StyledText(TextLayout.pad(label, to: column), .accent) + StyledText(line))
    }
  }

  private static func width(_ output: CommandOutput) -> Int {
    min(output.appearance.width, 80)
  }
}
