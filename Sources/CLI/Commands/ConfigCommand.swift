import BrewlogAPI

/// `config`: the settings in force, and where each came from.
enum ConfigCommand {
  static let command = Command(
    "config", "show the configuration in force and where it came from",
    details: "Secrets are left out.",
    examples: [("config", "every setting")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let reply = try context.ask(.configuration, as: ConfigurationReply.self)
    if !context.json { show(reply.settings, context) }
    return .done
  }

  /// In the file's own form, with the origin as a comment.
  static func show(_ settings: [Setting], _ context: CommandContext) {
    var section: String?
    for setting in settings {
      if setting.section != section {
        if section != nil { context.output.line() }
        section = setting.section
        context.output.line(StyledText("[\(setting.section)]", .strong))
      }
      context.output.line(
        StyledText("\(setting.key)=\(setting.value)") + StyledText("  # \(setting.origin)", .faint))
    }
  }
}
