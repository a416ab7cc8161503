import BrewlogAPI

/// `verify-erasure`: whether anything could still give away an earlier session.
enum VerifyErasureCommand {
  static let command = Command(
    "verify-erasure", "look for traces of earlier sessions' credentials",
    details: "Exit status 1 where there are any.",
    examples: [("verify-erasure && echo clean", "after a logout")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let reply = try context.ask(
      .verifyErasure, timeout: CommandContext.upstream, as: VerifyErasureReply.self)
    if !context.json {
      if reply.clean {
        context.output.line(StyledText("Nothing of earlier sessions is left.", .good))
      } else {
        context.output.line(
          StyledText(Words.count(reply.findings.count, "trace") + " of earlier sessions:", .bad))
        for finding in reply.findings { context.output.paragraph(StyledText("- " + finding)) }
      }
    }
    return reply.clean ? .done : .failed
  }
}
