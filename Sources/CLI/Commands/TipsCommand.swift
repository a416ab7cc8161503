import BrewlogAPI
import JSON

/// `tips`: what is cached, newest first.
enum TipsCommand {
  static let command = Command(
    "tips", "list the cached tips, newest first",
    options: [OptionSpec("--limit", "N", "at most so many, 1 to 1000 (100)")],
    details: "Never goes upstream.",
    examples: [
      ("tips", "what there is"),
      ("--json tips | jq -r '.entries[].tip.title'", "their titles"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let limit = try context.arguments.optionalInteger("--limit", in: 1...1000) ?? 100
    var shown = 0
    var before: String?
    // A long list comes in several replies; `next` says where to go on.
    repeat {
      var parameters: [String: JSONValue] = ["limit": .integer(Int64(limit - shown))]
      if let before { parameters["before"] = .string(before) }
      let reply = try context.ask(.list, parameters, as: ListReply.self)
      if !context.json { reply.entries.forEach { show($0, context) } }
      shown += reply.entries.count
      before = reply.entries.isEmpty ? nil : reply.next
    } while before != nil && shown < limit
    if shown == 0 { context.output.note("No tip is cached yet; fetch one: brewlogctl tip") }
    return .done
  }

  private static func show(_ entry: Entry, _ context: CommandContext) {
    let appearance = context.appearance
    guard appearance.terminal else {
      // Tabs between fields: lines for cut and awk.
      let fields = [entry.tip.date ?? "-", entry.tip.id, entry.tip.title].map(DisplayText.line)
      context.output.composed(
        Array(fields.map { [.foreign($0)] }.joined(separator: [.own("\t")])))
      return
    }
    let date = TextLayout.pad(
      TextLayout.clip(appearance.line(entry.tip.date ?? "-"), to: 10, mark: ""), to: 10)
    // Whole ids are in the plain list and in `--json`.
    let id = TextLayout.clip(
      appearance.line(entry.tip.id), to: max(10, appearance.width / 3), mark: appearance.ellipsis)
    let age = entry.provenance.stale ? "old" : Words.ago(entry.provenance.ageSeconds)
    let room = appearance.width - DisplayWidth.of(date) - DisplayWidth.of(id) - age.count - 6
    if room < 12 {
      context.output.line(StyledText(date + "  " + id, .faint))
      let title = appearance.line(entry.tip.title)
      context.output.line(
        StyledText(
          "  "
            + TextLayout.clip(title, to: appearance.width - 2, mark: appearance.ellipsis)))
      return
    }
    let title = TextLayout.clip(
      appearance.line(entry.tip.title), to: room,
      mark: appearance.ellipsis)
    context.output.line(
      StyledText(date + "  ", .faint) + StyledText(id + "  ", .accent)
        + StyledText(TextLayout.pad(title, to: room) + "  ")
        + StyledText(age, entry.provenance.stale ? .warning : .faint))
  }
}
