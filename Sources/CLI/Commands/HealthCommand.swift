import BrewlogAPI

/// `health`: each check, and an exit status for scripts.
enum HealthCommand {
  static let command = Command(
    "health", "show the daemon's checks",
    details:
      "Exit status 1 where the daemon is not ready: its store takes no writes, or a logout is not "
      + "durable.",
    examples: [("health", "every check"), ("--json health | jq .ready", "for a script")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let reply = try context.ask(.health, as: HealthReply.self)
    if !context.json {
      let width = (reply.checks.map { DisplayWidth.of(DisplayText.line($0.name)) }.max() ?? 0)
      let fields = FieldList(context: context, label: min(width, 24) + 8)
      for check in reply.checks {
        let mark = check.ok ? "ok    " : "look  "
        fields.row(
          mark + DisplayText.line(check.name),
          StyledText(check.detail, check.ok ? .plain : .warning))
      }
      let running = StyledText(", running for \(Words.span(reply.uptimeSeconds)).")
      context.output.line(
        (reply.ready ? StyledText("Ready", .good) : StyledText("Not ready", .bad)) + running)
    }
    return reply.ready ? .done : .failed
  }
}
