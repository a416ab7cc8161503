import BrewlogAPI

/// A tip in a frame that fits the terminal.
struct TipCard {
  /// Longer lines than this are hard to read, however wide the terminal is.
  private static let widest = 76
  /// A title is a title: what goes past this is in `--json`.
  private static let titleLines = 3

  let entry: Entry
  let title: String
  let context: CommandContext

  private struct Frame {
    let topLeft, topRight, bottomLeft, bottomRight, across, down: String

    static let boxes = Frame(
      topLeft: "╭", topRight: "╮", bottomLeft: "╰", bottomRight: "╯", across: "─", down: "│")
    static let ascii = Frame(
      topLeft: "+", topRight: "+", bottomLeft: "+", bottomRight: "+", across: "-", down: "|")
  }

  func show() {
    let appearance = context.appearance
    let width = min(appearance.width, Self.widest)
    let inside = width - 4
    let tip = entry.tip
    let frame = appearance.unicode ? Frame.boxes : Frame.ascii
    let output = context.output

    let heading = [title, tip.date].compactMap { $0 }.joined(separator: " \(appearance.dot) ")
    output.line(edge(frame.topLeft, frame.topRight, heading, .accent, frame, width))
    for line in titleText(inside) { output.line(row(line, .strong, frame, inside)) }
    if !tip.body.isEmpty {
      output.line(row("", .plain, frame, inside))
      for line in TextLayout.wrap(appearance.block(tip.body), to: inside) {
        output.line(row(line, .plain, frame, inside))
      }
    }
    let tags = tip.tags.map { "#" + appearance.line($0) }.joined(separator: " ")
    let url = tip.url.map(appearance.line) ?? ""
    // An address that is broken over lines cannot be followed: one too long stands below.
    let urlFits = DisplayWidth.of(url) <= inside
    let extras = [(tags, Tone.faint), (urlFits ? url : "", .accent)].filter { !$0.0.isEmpty }
    if !extras.isEmpty { output.line(row("", .plain, frame, inside)) }
    for (text, tone) in extras {
      for line in TextLayout.wrap(text, to: inside) { output.line(row(line, tone, frame, inside)) }
    }
    let stale = entry.provenance.stale
    let freshness = Words.freshness(entry.provenance)
    // The id is what `rate` wants; where there is no room for it, `--json` has it.
    let withID = "\(tip.id) \(appearance.dot) \(freshness)"
    let footer = DisplayWidth.of(appearance.line(withID)) + 6 <= width ? withID : freshness
    // What explains an old tip is never cut.
    let footerFits = DisplayWidth.of(appearance.line(footer)) + 6 <= width
    output.line(
      edge(
        frame.bottomLeft, frame.bottomRight, footerFits ? footer : "", stale ? .warning : .faint,
        frame, width))
    if !footerFits {
      for line in TextLayout.wrap(appearance.line(footer), to: width) {
        output.line(StyledText(line, stale ? .warning : .faint))
      }
    }
    if !urlFits { output.line(StyledText(url, .accent)) }
  }

  private func titleText(_ width: Int) -> [String] {
    let appearance = context.appearance
    // Only so much is wrapped as could be shown.
    let shown = String(appearance.line(entry.tip.title).prefix(width * (Self.titleLines + 1)))
    let lines = TextLayout.wrap(shown, to: width)
    if lines.count <= Self.titleLines { return lines }
    let last = lines[Self.titleLines - 1] + " " + lines[Self.titleLines]
    let mark = appearance.ellipsis
    let clipped = TextLayout.clip(last, to: width, mark: mark)
    return lines.prefix(Self.titleLines - 1)
      + [clipped.hasSuffix(mark) ? clipped : TextLayout.clip(last + mark, to: width, mark: mark)]
  }

  private func row(_ text: String, _ tone: Tone, _ frame: Frame, _ inside: Int) -> StyledText {
    StyledText(frame.down + " ", .faint) + StyledText(text, tone)
      + StyledText(TextLayout.pad("", to: inside - DisplayWidth.of(text)))
      + StyledText(" " + frame.down, .faint)
  }

  private func edge(
    _ left: String, _ right: String, _ text: String, _ tone: Tone, _ frame: Frame, _ width: Int
  ) -> StyledText {
    let appearance = context.appearance
    if text.isEmpty {
      let line = String(repeating: frame.across, count: width - 2)
      return StyledText(left + line + right, .faint)
    }
    let label = TextLayout.clip(appearance.line(text), to: width - 6, mark: appearance.ellipsis)
    let rest = max(0, width - 5 - DisplayWidth.of(label))
    return StyledText(left + frame.across + " ", .faint) + StyledText(label, tone)
      + StyledText(" " + String(repeating: frame.across, count: rest) + right, .faint)
  }
}
