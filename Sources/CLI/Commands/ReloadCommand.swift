import BrewlogAPI

/// `reload`: reads the configuration files again.
enum ReloadCommand {
  static let command = Command(
    "reload", "read the configuration files again",
    details: "The old configuration stays in force if the new one is not valid.",
    examples: [("reload", "after an edit")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let reply = try context.ask(.reload, as: ReloadReply.self)
    if context.json { return .done }
    if reply.changed.isEmpty {
      context.output.line("Reloaded; nothing has changed.")
    } else {
      context.output.line(StyledText("Reloaded; \(Words.count(reply.changed.count, "change")):"))
      ConfigCommand.show(reply.changed, context)
    }
    return .done
  }
}
