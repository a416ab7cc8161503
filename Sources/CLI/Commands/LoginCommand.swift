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
      "Without options, shows an address and a code to enter there, and waits. With --token-stdin, "
      + "reads {\"accessToken\", \"refreshToken\", \"expiresInSeconds\", \"account\", \"scope\"} "
      + "(one of the tokens is needed), or a bare refresh token; before anything is sent, it checks "
      + "that root, the daemon's user or you stand at the other end.",
    examples: [
      ("login", "by the device flow"),
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
    var session: Snapshot?
    let parameters: [String: JSONValue] =
      arguments.has("--browser") ? ["flow": .string(LoginFlow.browser.name)] : [:]
    var shownAttempt: String?
    try context.follow(.login, parameters, as: LoginReply.self) { reply in
      if let attempt = reply.attempt, attempt.id != shownAttempt {
        shownAttempt = attempt.id
        if !context.json { show(attempt, context) }
      }
      session = reply.session ?? session
      return true
    }
    guard let session else {
      throw CommandFailure(
        .failed, "the sign-in ended without a session", remedy: "See why: brewlogctl explain")
    }
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
    try ServerCheck.require(context)
    let reply = try context.ask(
      .importCredentials, parameters, timeout: CommandContext.upstream, as: SessionReply.self)
    if !context.json { signedIn(reply.session, context) }
    return .done
  }

  private static func show(_ attempt: LoginAttempt, _ context: CommandContext) {
    let output = context.output
    if let prompt = attempt.device {
      output.line(StyledText("Open  ") + StyledText(prompt.verificationUri, .accent))
      output.line(StyledText("Enter ") + StyledText(prompt.userCode, .strong))
      if let complete = prompt.verificationUriComplete {
        output.line(StyledText("Or open at once: " + complete, .faint))
      }
    } else if let address = attempt.authorizeUri {
      output.line("Open in a browser on this host:")
      output.line(StyledText(address, .accent))
    }
    output.line(StyledText("It ends \(context.words.relative(attempt.expiresAt)).", .faint))
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
