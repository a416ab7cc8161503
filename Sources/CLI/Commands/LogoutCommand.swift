import BrewlogAPI
import JSON

/// `logout`: ends the session; done, too, when there is none.
enum LogoutCommand {
  static let command = Command(
    "logout", "end the session",
    options: [
      OptionSpec("--no-revoke", nil, "forget the tokens without telling the upstream")
    ],
    details:
      "Works offline. When it is done, nothing on this host can use the session any more; unless "
      + "--no-revoke is given, the tokens are kept sealed until the upstream has revoked them, a "
      + "day at most. Exit status 7: signed out, but what is on disk is not destroyed yet.",
    examples: [("logout", "sign out and revoke"), ("logout --no-revoke", "sign out, tell nobody")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let parameters: [String: JSONValue] =
      context.arguments.has("--no-revoke") ? ["revoke": false] : [:]
    let reply = try context.ask(
      .logout, parameters, timeout: .seconds(60), as: LogoutReply.self)
    if context.json { return .done }
    if reply.previousGeneration == reply.generation {
      context.output.line("There was no session to end.")
      return .done
    }
    context.output.line(StyledText("Signed out.", .good))
    let revocation: StyledText =
      switch reply.revocation {
      case .queued: "The upstream will be told to revoke the tokens."
      case .notQueued: "The tokens could not be kept for revocation; they expire by themselves."
      case .skipped: "The tokens were not revoked; they expire by themselves."
      case .unsupported: "The upstream has no way to revoke tokens; they expire by themselves."
      case .unknown(let name): StyledText("Revocation: " + name)
      }
    context.output.paragraph(revocation)
    return .done
  }
}
