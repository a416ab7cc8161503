import BrewlogAPI

/// `watch`: events as they happen, until Ctrl-C.
enum WatchCommand {
  static let command = Command(
    "watch", "show events as they happen",
    options: [
      OptionSpec("--after", "N", "first those since event number N"),
      OptionSpec("--full", nil, "a screen: session, token, latency, timeline"),
    ],
    details:
      "The first event is the present state. When the daemon restarts, watching goes on after the "
      + "last event that was seen. Ends with Ctrl-C; --full, on a terminal, with q too.",
    examples: [
      ("watch", "what goes on"),
      ("watch --full", "the same as a picture"),
      ("--json watch | jq --unbuffered -r .event.kind", "for a script"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let after = try context.arguments.optionalInteger("--after", in: 0...Int.max)
    if context.arguments.has("--full") {
      guard context.appearance.redraws, !context.json else {
        throw context.arguments.usage("--full needs a terminal that can be drawn on")
      }
      return try WatchScreen(context).run(after: after)
    }
    let follower = EventFollower(context, after: after)
    try follower.run { happening in
      switch happening {
      case .event(let event):
        if !context.json { context.output.line(EventLine.text(event, context)) }
      case .away(let why):
        context.output.note(StyledText("\(why); waiting for it to come back."))
      case .back: context.output.note("The daemon is back.")
      case .ready, .tick: break
      }
      return true
    }
    return .done
  }
}
