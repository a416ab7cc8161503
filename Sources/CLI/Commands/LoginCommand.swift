import BrewlogAPI
import JSON

/// `login`: by the device flow, by a browser, or with a token from standard input.
enum LoginCommand {
  static let command = Command(
    "login", "sign in",
    options: [
      OptionSpec("--browser", nil, "by a browser, not by the device flow"),
      OptionSpec("--token-stdin", nil, "take tokens from standard input"),
    ],
    details:
      "Without options, shows an address and a code to enter there, on any device, and waits. "
      + "--browser opens one on this host; where it cannot, paste the address that a browser "
      + "elsewhere was sent to at the end. Ctrl-C cancels the attempt. With --token-stdin, "
      + "reads {\"accessToken\", \"refreshToken\", \"expiresInSeconds\", \"account\", \"scope\"} "
      + "(one of the tokens is needed), or a bare refresh token; before anything is sent, it checks "
      + "that root, the daemon's user or you stand at the other end.",
    examples: [
      ("login", "by the device flow"),
      ("login --browser", "by a browser on this host, or a pasted address"),
      ("login --token-stdin < token.json", "from a file that only you can read"),
      ("login --token-stdin < <(pass show brewlog)", "from a password store"),
    ],
    refusal:
      "login takes no token as an argument: every process could read it (ps), and the shell would "
      + "keep it in its history. Pipe it in: brewlogctl login --token-stdin < FILE",
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let arguments = context.arguments
    if arguments.has("--token-stdin") {
      guard !arguments.has("--browser") else {
        throw arguments.usage("--token-stdin and --browser exclude each other")
      }
      return try importTokens(context)
    }
    let session = try LoginConversation(context).run(arguments.has("--browser") ? .browser : nil)
    if !context.json { signedIn(session, context) }
    return .done
  }

  private static func importTokens(
    _ context: CommandContext
  ) throws(CommandFailure) -> ExitCode {
    if context.environment.standardInputIsTerminal {
      throw CommandFailure(
        .usage, "a token typed here would stay visible on the screen",
        remedy: "Pipe it in: brewlogctl login --token-stdin < FILE")
    }
    let bytes = context.environment.readInput(TokenInput.maxBytes)
    let parameters = try TokenInput.parameters(bytes)
    try ServerCheck.require(context, what: "the token")
    let reply = try context.ask(
      .importCredentials, parameters, timeout: CommandContext.upstream, as: SessionReply.self)
    if !context.json { signedIn(reply.session, context) }
    return .done
  }

  private static func signedIn(_ session: Snapshot, _ context: CommandContext) {
    let sentence = SessionSummary.sentence(session, context.words)
    let tone: Tone = session.state == .signedIn ? .good : .warning
    context.output.line(
      StyledText(sentence.prefix(1).uppercased() + sentence.dropFirst() + ".", tone))
    if !session.durable {
      context.output.note("It could not be stored yet: see brewlogctl health")
    }
  }
}
