import BrewlogAPI
import JSON

/// `watch`: events as they happen, until Ctrl-C.
enum WatchCommand {
  static let command = Command(
    "watch", "show events as they happen",
    options: [OptionSpec("--after", "N", "first those since event number N")],
    details: "The first event is the present state. Ends with Ctrl-C.",
    examples: [
      ("watch", "what goes on"),
      ("--json watch | jq --unbuffered -r .event.kind", "for a script"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let after = try context.arguments.optionalInteger("--after", in: 0...Int.max)
    let parameters: [String: JSONValue] =
      after.map { ["afterSequence": .integer(Int64($0))] } ?? [:]
    try context.follow(.watch, parameters, as: WatchReply.self) { reply in
      if !context.json { context.output.line(EventLine.text(reply.event, context)) }
      return true
    }
    return .done
  }
}
