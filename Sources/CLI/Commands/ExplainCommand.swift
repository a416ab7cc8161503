import BrewlogAPI

/// `explain`: why the session is as it is, and the next step.
enum ExplainCommand {
  static let command = Command(
    "explain", "say why the session is as it is, and the next step",
    examples: [("explain", "in one sentence, with the events it rests on")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let reply = try context.ask(.explain, as: ExplainReply.self)
    if context.json { return .done }
    let output = context.output
    output.paragraph(StyledText(reply.sentence, .strong))
    if let next = reply.nextStep { output.paragraph(StyledText("Next: " + next, .accent)) }
    if !reply.evidence.isEmpty {
      output.line()
      for event in reply.evidence { output.line(EventLine.text(event, context)) }
    }
    return .done
  }
}
