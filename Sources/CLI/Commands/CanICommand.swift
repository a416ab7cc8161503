import BrewlogAPI
import Configuration
import JSON

/// `can-i`: whether a method may be called, by which rule, and what would allow it.
enum CanICommand {
  static let command = Command(
    "can-i", "say whether you may call a method, and why",
    operands: [Command.Operand("METHOD")],
    details: "METHOD is a full name or its last part: \(lastParts.joined(separator: ", ")). Exit "
      + "status 1 where it is not allowed.",
    examples: [
      ("can-i Logout", "the same as org.brewlog.Session.Logout"),
      ("can-i org.brewlog.Service.Reload", "a full name"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let given = context.arguments.operands[0]
    let method = try fullName(given, context.arguments)
    let reply = try context.ask(.canI, ["method": .string(method)], as: CanIReply.self)
    if !context.json {
      context.output.line(
        (reply.allowed ? StyledText("Yes", .good) : StyledText("No", .bad))
          + StyledText(": " + reply.rule))
      if let remedy = reply.remedy {
        context.output.paragraph(StyledText("To allow it: " + remedy))
      }
    }
    return reply.allowed ? .done : .failed
  }

  private static let lastParts = APIMethod.allCases.map {
    String($0.rawValue.split(separator: ".").last ?? "")
  }

  private static func fullName(
    _ given: String, _ arguments: ParsedArguments
  ) throws(CommandFailure) -> String {
    // A full name that is not known here may be a newer daemon's.
    if given.contains(".") { return given }
    let names = APIMethod.allCases.map(\.rawValue)
    if let name = names.first(where: { $0.lowercased().hasSuffix("." + given.lowercased()) }) {
      return name
    }
    throw arguments.usage("there is no method \(given)\(Nearest.hint(given, in: lastParts))")
  }
}
