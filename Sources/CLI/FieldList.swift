/// Labels and what stands beside them, wrapped under itself; on a narrow terminal, under the label.
struct FieldList {
  let context: CommandContext
  /// Columns for the label.
  let label: Int

  /// Text in less than this is no pleasure to read.
  private static let leastRoom = 24

  func row(_ name: String, _ text: StyledText) {
    row(StyledText(name, .faint), text)
  }

  func row(_ name: StyledText, _ text: StyledText) {
    let appearance = context.appearance
    let shown = text.folded(by: appearance)
    let isNarrow = appearance.terminal && appearance.width - label < Self.leastRoom
    let indent = isNarrow ? 4 : label
    let width = max(16, min(appearance.width, 100) - indent)
    var head = name.folded(by: appearance)
    head = head + StyledText(TextLayout.pad("", to: label - head.width))
    if !isNarrow, shown.width <= width || !appearance.terminal {
      context.output.line(head + shown)
      return
    }
    let blank = StyledText(TextLayout.pad("", to: indent))
    let lines = TextLayout.wrap(shown.plain, to: width)
    if isNarrow, !name.plain.isEmpty { context.output.line(head) }
    for (index, line) in lines.enumerated() {
      context.output.line((index == 0 && !isNarrow ? head : blank) + StyledText(line, shown.tone))
    }
  }
}
