import BrewlogAPI
import JSON

/// `rate`: one POST upstream, safe to repeat.
enum RateCommand {
  static let command = Command(
    "rate", "rate a tip, 1 to 5",
    operands: [Command.Operand("ID"), Command.Operand("RATING")],
    options: [OptionSpec("--wait", "SPAN", "how long to wait for the upstream")],
    details: "The daemon repeats it safely after a lost answer: it counts once.",
    examples: [("rate 2026-11-30 5", "a very good one")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let arguments = context.arguments
    let id = try arguments.tipID(arguments.operands[0])
    let rating = try arguments.integer("the rating", arguments.operands[1], in: 1...5)
    var parameters: [String: JSONValue] = ["id": .string(id), "rating": .integer(Int64(rating))]
    var timeout = CommandContext.upstream
    if let wait = try arguments.optionalSpan("--wait") {
      parameters["waitSeconds"] = .integer(Int64(wait))
      timeout = .seconds(min(wait, 86_400)) + CommandContext.local
    }
    _ = try context.ask(.rate, parameters, timeout: timeout, as: EmptyReply.self)
    if !context.json { context.output.line(StyledText("Rated \(id): \(rating) of 5.")) }
    return .done
  }
}
