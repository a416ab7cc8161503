/// Labels and what stands beside them, wrapped under itself.
struct FieldList {
  let context: CommandContext
  /// Columns for the label.
  let label: Int

  func row(_ name: String, _ text: StyledText) {
    let appearance = context.appearance
    let width = max(16, min(appearance.width, 100) - label)
    let head = StyledText(TextLayout.pad(name, to: label), .faint)
    let shown = text.folded(by: appearance)
    if shown.width <= width || !appearance.terminal {
      context.output.line(head + shown)
      return
    }
    let blank = StyledText(TextLayout.pad("", to: label))
    for (index, line) in TextLayout.wrap(shown.plain, to: width).enumerated() {
      context.output.line((index == 0 ? head : blank) + StyledText(line, shown.tone))
    }
  }
}
