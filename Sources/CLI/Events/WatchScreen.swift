import BrewlogAPI
import Execution
import Glibc
import JSON

/// `watch --full`: session, token, latencies, timeline and the last events on one screen, drawn
/// anew with each event, each second and each new size.
final class WatchScreen {
  private let context: CommandContext
  private var events: [Event] = []
  private var status: StatusReply?
  private var away: String?

  private static let kept = 1000
  /// What the timeline shows, back from now.
  private static let timeline: Int64 = 60 * 60 * 1000

  init(_ context: CommandContext) {
    self.context = context
  }

  func run(after: Int?) throws(CommandFailure) -> ExitCode {
    let past = try context.quietly(.history, ["limit": 1000], as: HistoryReply.self)
    events = past.events
    ask()
    let input =
      context.environment.standardInputIsTerminal ? context.environment.inputDescriptor : nil
    let keyboard = input.flatMap { RawKeyboard($0) }
    let follower = EventFollower(
      context.reconnected(), after: after ?? events.map(\.sequence).max(),
      alongside: keyboard == nil ? [] : [input].compactMap { $0 }, tick: .seconds(1),
      signals: CaughtSignals.endings + [SIGWINCH])
    context.output.beginScreen()
    defer {
      context.output.endScreen()
      withExtendedLifetime(keyboard) {}
    }
    draw()
    try follower.run { happening in
      switch happening {
      case .event(let event): take(event)
      case .away(let why): away = why
      case .back:
        away = nil
        ask()
      case .ready:
        let keys = context.environment.readTyped()
        if keys.isEmpty || keys.contains(UInt8(ascii: "q")) { return false }
      case .tick: break
      }
      draw()
      return true
    }
    return .done
  }

  private func take(_ event: Event) {
    if !events.contains(where: { $0.sequence == event.sequence && $0.kind == event.kind }) {
      events.insert(event, at: 0)
      if events.count > Self.kept { events.removeLast() }
    }
    ask()
  }

  /// What stands above the timeline; left as it was where the daemon does not answer.
  private func ask() {
    if let reply = try? context.reconnected().quietly(
      .status, timeout: .seconds(2), as: StatusReply.self)
    {
      status = reply
    }
  }

  // MARK: Drawing

  private func draw() {
    let size = context.environment.terminalSize() ?? TerminalSize(columns: 80, rows: 24)
    var appearance = context.appearance
    appearance.width = max(20, size.columns)
    let chronicle = SessionChronicle(events, now: context.environment.now().milliseconds)
    var lines = head(appearance)
    lines += latencies(chronicle, appearance)
    lines.append("")
    lines.append(StyledText("The last hour", .strong))
    lines +=
      HistoryPlot(
        chronicle: chronicle.since(Self.timeline), words: context.words, appearance: appearance
      ).lines
    lines.append("")
    lines += events.prefix(max(0, size.rows - lines.count)).map { EventLine.text($0, context) }
    context.output.screen(
      lines.prefix(size.rows).map { $0.clipped(to: appearance.width, appearance) })
  }

  private func head(_ appearance: Appearance) -> [StyledText] {
    let words = context.words
    if let away {
      return [StyledText(away, .bad), StyledText("Waiting for it to come back.", .faint), ""]
    }
    guard let session = status?.session else { return [] }
    let sentence = SessionSummary.sentence(session, words)
    let tone: Tone = session.state == .signedIn ? .good : .warning
    var lines = [
      StyledText(sentence.prefix(1).uppercased() + sentence.dropFirst(), tone)
        + StyledText(", generation \(session.generation); q ends this", .faint)
    ]
    if let until = session.accessTokenExpiresAt, let left = words.secondsUntil(until) {
      let since = (session.lastRefreshAt ?? session.signedInAt).flatMap(words.secondsUntil) ?? 0
      let bar = Self.bar(left: max(0, left), whole: max(1, left - since), appearance)
      lines.append(
        StyledText(TextLayout.pad("token", to: HistoryPlot.label), .faint)
          + StyledText(bar, left < 60 ? .warning : .accent)
          + StyledText(left > 0 ? "  good for \(Words.span(left))" : "  expired"))
    }
    return lines
  }

  private static func bar(left: Int, whole: Int, _ appearance: Appearance) -> String {
    let width = min(30, appearance.width / 3)
    let filled = min(width, left * width / whole)
    let (full, empty) = appearance.unicode ? ("━", "╌") : ("#", ".")
    return String(repeating: full, count: filled) + String(repeating: empty, count: width - filled)
  }

  private func latencies(
    _ chronicle: SessionChronicle, _ appearance: Appearance
  ) -> [StyledText] {
    [("refreshes", chronicle.refreshLatencies), ("tips", chronicle.tipLatencies)].compactMap {
      name, values in
      guard let last = values.last else { return nil }
      let width = min(30, appearance.width / 3)
      let line = Sparkline.text(
        values.map(\.milliseconds), width: width, unicode: appearance.unicode)
      let sorted = values.map(\.milliseconds).sorted()
      let failed = values.count(where: \.failed)
      return StyledText(TextLayout.pad(name, to: HistoryPlot.label), .faint)
        + StyledText(TextLayout.pad(line, to: width), .accent)
        + StyledText("  last \(last.milliseconds) ms, median \(sorted[sorted.count / 2]) ms")
        + StyledText(failed == 0 ? "" : ", \(failed) failed", .bad)
    }
  }
}
