import BrewlogAPI

/// `resume`: a person has looked, and a suspended session goes on.
enum ResumeCommand {
  static let command = Command(
    "resume", "let a suspended session go on",
    details:
      "A session is suspended when its store was copied to another machine, or when the "
      + "configuration names another upstream. Look at the reason first: brewlogctl status",
    examples: [("resume", "the move was meant")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let reply = try context.ask(.resume, as: SessionReply.self)
    if context.json { return .done }
    let fields = FieldList(context: context, label: 11)
    SessionSummary(snapshot: reply.session, context: context, fields: fields).show()
    return .done
  }
}
