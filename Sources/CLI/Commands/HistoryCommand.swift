import BrewlogAPI
import Execution
import Glibc
import JSON
import Platform

/// `history`: what has happened, restarts included.
enum HistoryCommand {
  static let command = Command(
    "history", "show what has happened, newest first",
    options: [
      OptionSpec("--limit", "N", "at most so many events, 1 to 1000 (100; drawn: 1000)"),
      OptionSpec("--plot", nil, "draw the life of the session"),
      OptionSpec("--svg", "FILE", "draw it into a file, for a report; - is standard output"),
    ],
    details:
      "--plot draws a lane each for the session, its access tokens, refreshes, failures and "
      + "outages of the upstream, from the oldest of the events (1000, or --limit) until now.",
    examples: [
      ("history --limit 20", "the last twenty"),
      ("history --plot", "as a picture of characters"),
      ("history --svg session.svg", "as a picture for a report"),
      ("--json history | jq '.events[].kind'", "for a script"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let arguments = context.arguments
    let draws = arguments.has("--plot") || arguments.value("--svg") != nil
    let limit = try arguments.optionalInteger("--limit", in: 1...1000) ?? (draws ? 1000 : nil)
    let parameters: [String: JSONValue] = limit.map { ["limit": .integer(Int64($0))] } ?? [:]
    let reply =
      arguments.value("--svg") == "-"
      ? try context.quietly(.history, parameters, as: HistoryReply.self)
      : try context.ask(.history, parameters, as: HistoryReply.self)
    if reply.events.isEmpty, !context.json {
      context.output.note("Nothing has been recorded yet.")
      return .done
    }
    let chronicle = SessionChronicle(
      reply.events, now: context.environment.now().milliseconds)
    if let file = arguments.value("--svg") { try write(chronicle, to: file, context) }
    if context.json { return .done }
    if arguments.has("--plot") {
      plot(chronicle, context)
    } else if !draws {
      for event in reply.events { context.output.line(EventLine.text(event, context)) }
    }
    return .done
  }

  private static func title(_ chronicle: SessionChronicle, _ words: Words) -> String {
    func moment(_ at: Int64) -> String {
      words.moment(Timestamps.text(WallTime(milliseconds: at)))
    }
    let span = Words.span(Int(clamping: (chronicle.end - chronicle.start) / 1000))
    return "The session from \(moment(chronicle.start)) to \(moment(chronicle.end)) (\(span))"
  }

  private static func plot(_ chronicle: SessionChronicle, _ context: CommandContext) {
    let output = context.output
    let plot = HistoryPlot(
      chronicle: chronicle, words: context.words, appearance: context.appearance)
    output.paragraph(StyledText(title(chronicle, context.words), .strong))
    output.line()
    for line in plot.lines { output.line(line) }
    output.line()
    for sentence in chronicle.sentences { output.paragraph(StyledText(sentence)) }
    output.paragraph(StyledText("In the picture " + plot.legend + ".", .faint))
  }

  private static func write(
    _ chronicle: SessionChronicle, to file: String, _ context: CommandContext
  ) throws(CommandFailure) {
    let text = HistoryDrawing(
      chronicle: chronicle, words: context.words, title: title(chronicle, context.words)
    ).text
    if file == "-" { return context.output.block(text) }
    let raw = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    let descriptor = FileDescriptor(owning: raw)
    var bytes = Array(text.utf8)[...]
    while raw >= 0, !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(raw, $0.baseAddress, $0.count) }
      if count < 0, errno != EINTR { break }
      bytes = bytes.dropFirst(max(0, count))
    }
    guard descriptor.rawValue >= 0, bytes.isEmpty else {
      throw CommandFailure(
        .failed, "\(file) could not be written: \(SystemError.text(of: errno))",
        remedy: "Name a file in a directory that you may write to.")
    }
    if !context.json { context.output.note(StyledText("Drawn into \(file).")) }
  }
}
