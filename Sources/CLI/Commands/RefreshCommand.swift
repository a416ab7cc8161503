import BrewlogAPI
import JSON

/// `refresh`: now, or together with the one that is under way.
enum RefreshCommand {
  static let command = Command(
    "refresh", "refresh the access token now",
    options: [OptionSpec("--wait", "SPAN", "how long to wait for it")],
    details: "Joins a refresh that is under way. The daemon refreshes by itself before expiry.",
    examples: [("refresh", "a new access token")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    var parameters: [String: JSONValue] = [:]
    var timeout = CommandContext.upstream
    if let wait = try context.arguments.optionalSpan("--wait") {
      parameters["waitSeconds"] = .integer(Int64(wait))
      timeout = .seconds(min(wait, 86_400)) + CommandContext.local
    }
    let reply = try context.ask(.refresh, parameters, timeout: timeout, as: SessionReply.self)
    if context.json { return .done }
    context.output.line(StyledText("Refreshed.", .good))
    let fields = FieldList(context: context, label: 11)
    SessionSummary(snapshot: reply.session, context: context, fields: fields).show()
    return .done
  }
}
