import BrewlogAPI
import JSON

/// `history`: what has happened, restarts included.
enum HistoryCommand {
  static let command = Command(
    "history", "show what has happened, newest first",
    options: [OptionSpec("--limit", "N", "at most so many events")],
    examples: [
      ("history --limit 20", "the last twenty"),
      ("--json history | jq '.events[].kind'", "for a script"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let limit = try context.arguments.optionalInteger("--limit", in: 1...1_000_000)
    let parameters: [String: JSONValue] = limit.map { ["limit": .integer(Int64($0))] } ?? [:]
    let reply = try context.ask(.history, parameters, as: HistoryReply.self)
    if context.json { return .done }
    for event in reply.events { context.output.line(EventLine.text(event, context)) }
    if reply.events.isEmpty { context.output.note("Nothing has been recorded yet.") }
    return .done
  }
}
