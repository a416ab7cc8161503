/// Two columns of values under one set of labels; what differs is marked. On a narrow terminal the
/// columns stand under each other.
struct ComparisonTable {
  struct Row {
    let label: String
    var left: String
    var right: String
    /// Whether both sides should say the same.
    let compared: Bool

    var differs: Bool { compared && left != right }
  }

  let rows: [Row]

  private static let labelWidth = 16

  func show(_ leftTitle: String, _ rightTitle: String, _ context: CommandContext) {
    let appearance = context.appearance
    let room = min(appearance.width, 120) - Self.labelWidth - 2
    let rows = rows.filter { $0.left != "-" || $0.right != "-" }.map { row in
      Row(
        label: row.label, left: appearance.line(row.left), right: appearance.line(row.right),
        compared: row.compared)
    }
    let longest = (rows.map { DisplayWidth.of($0.left) } + [leftTitle.count]).max() ?? 0
    let column = min(longest, room / 2)
    if column < 16 && room < 40 {
      rows.forEach { showStacked($0, leftTitle, rightTitle, context) }
      return
    }
    let output = context.output
    let blank = TextLayout.pad("", to: Self.labelWidth)
    output.line(
      StyledText(blank + TextLayout.pad(leftTitle, to: column) + "  " + rightTitle, .strong))
    for row in rows {
      let differs = row.differs
      let leftLines = TextLayout.wrap(row.left, to: column)
      let rightLines = TextLayout.wrap(row.right, to: max(8, room - column))
      for index in 0..<max(leftLines.count, rightLines.count) {
        let label = index == 0 ? (differs ? "! " : "  ") + row.label : ""
        let one = index < leftLines.count ? leftLines[index] : ""
        let other = index < rightLines.count ? rightLines[index] : ""
        output.line(
          StyledText(
            TextLayout.pad(label, to: Self.labelWidth), differs ? .warning : .faint)
            + StyledText(
              TextLayout.pad(one, to: column) + "  " + other, differs ? .warning : .plain))
      }
    }
  }

  private func showStacked(
    _ row: Row, _ leftTitle: String,
    _ rightTitle: String, _ context: CommandContext
  ) {
    let output = context.output
    let width = max(8, context.appearance.width - 4)
    if row.left == row.right || row.left == "-" && !row.differs {
      let fields = FieldList(context: context, label: Self.labelWidth)
      fields.row("  " + row.label, StyledText(row.right))
      return
    }
    output.line(StyledText("! " + row.label, .warning))
    for (title, value) in [(leftTitle, row.left), (rightTitle, row.right)] {
      TextLayout.wrap("\(title): \(value)", to: width).forEach {
        output.line(StyledText("    " + $0, .warning))
      }
    }
  }
}
