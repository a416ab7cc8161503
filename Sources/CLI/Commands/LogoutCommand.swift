import BrewlogAPI
import JSON

/// `logout`: ends the session; done, too, when there is none.
enum LogoutCommand {
  static let command = Command(
    "logout", "end the session",
    options: [
      OptionSpec("--no-revoke", nil, "forget the tokens without telling the upstream"),
      OptionSpec("--yes", nil, "do not ask, on a terminal either"),
    ],
    details:
      "Works offline. When it is done, nothing on this host can use the session any more; unless "
      + "--no-revoke is given, the tokens are kept sealed until the upstream has revoked them, a "
      + "day at most. On a terminal it asks first. Exit status 7: signed out, but what is on disk "
      + "is not destroyed yet.",
    examples: [("logout", "sign out and revoke"), ("logout --no-revoke", "sign out, tell nobody")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    var parameters: [String: JSONValue] =
      context.arguments.has("--no-revoke") ? ["revoke": false] : [:]
    let before = try? context.quietly(.status, as: StatusReply.self).session
    if asks(context), let before, before.state != .signedOut {
      guard confirm(before, context) else {
        throw CommandFailure(.failed, "nothing was changed")
      }
      // What was confirmed is this session and no later one.
      parameters["ifGeneration"] = .integer(Int64(before.generation))
    }
    let reply = try context.ask(
      .logout, parameters, timeout: .seconds(60), as: LogoutReply.self)
    if context.json { return .done }
    if reply.previousGeneration == reply.generation {
      context.output.line("There was no session to end.")
      return .done
    }
    context.output.line(StyledText("Signed out\(account(before)).", .good))
    context.output.paragraph(
      "Destroyed: access token, refresh token and their key, in memory and on disk; cached tips.")
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

  private static func account(_ snapshot: Snapshot?) -> String {
    snapshot?.account.map { ": \($0)" } ?? ""
  }

  /// Only where a person both reads and types.
  private static func asks(_ context: CommandContext) -> Bool {
    context.appearance.terminal && context.environment.standardInputIsTerminal
      && !context.arguments.has("--yes") && !context.json
  }

  private static func confirm(_ snapshot: Snapshot, _ context: CommandContext) -> Bool {
    let sentence = SessionSummary.sentence(snapshot, context.words)
    context.output.paragraph(
      StyledText(sentence.prefix(1).uppercased() + sentence.dropFirst() + "."))
    context.output.prompt("End this session? [y/N] ")
    let answer = String(decoding: context.environment.readTyped(), as: UTF8.self)
    return ["y", "yes"].contains(answer.split(whereSeparator: \.isWhitespace).first?.lowercased())
  }
}
