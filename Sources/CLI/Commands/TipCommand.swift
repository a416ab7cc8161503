import BrewlogAPI
import JSON

/// `tip`: one tip, as a card on a terminal, as plain text in a pipe, or by a template.
enum TipCommand {
  static let command = Command(
    "tip", "show the tip of the day, or one tip by its id",
    operands: [Command.Operand("ID", optional: true)],
    options: [
      OptionSpec("--max-age", "SPAN", "ask upstream if the cached tip is older; 0 always asks"),
      OptionSpec("--cache-only", nil, "never go upstream"),
      OptionSpec("--wait", "SPAN", "how long to wait before a cached tip will do"),
      OptionSpec("--format", "TEMPLATE", "print this, with {fields} filled in"),
      OptionSpec("--card", nil, "the card, in a pipe too; COLUMNS is its width there"),
    ],
    details:
      "On a terminal the tip is a card; in a pipe it is plain text. In a template, \\n and \\t are "
      + "a new line and a tab, {{ and }} are { and }.",
    terms: ("Fields of a template", TipTemplate.fields.map { ("{\($0.name)}", $0.help) }),
    examples: [
      ("tip", "the tip of the day"),
      ("tip --max-age 1h", "at most an hour old"),
      ("tip --format '{title}: {url}'", "one line for a message of the day"),
      ("tip --cache-only --wait 0 --format '{title}'", "for a status bar: never waits"),
      ("--json tip | jq -r .tip.body", "the body alone, for a script"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let arguments = context.arguments
    if arguments.has("--card"), arguments.value("--format") != nil {
      throw arguments.usage("--card and --format exclude each other")
    }
    let template: TipTemplate? =
      if let text = arguments.value("--format") { try TipTemplate(text, arguments) } else { nil }
    var parameters: [String: JSONValue] = [:]
    if let age = try arguments.optionalSpan("--max-age") {
      parameters["maxAgeSeconds"] = .integer(Int64(age))
    }
    if arguments.has("--cache-only") { parameters["cacheOnly"] = true }
    var timeout = CommandContext.upstream
    if let wait = try arguments.optionalSpan("--wait") {
      parameters["waitSeconds"] = .integer(Int64(wait))
      timeout = .seconds(min(wait, 86_400)) + CommandContext.local
    }
    let id = arguments.operands.first
    if let id { parameters["id"] = .string(try arguments.tipID(id)) }
    let entry = try context.ask(
      id == nil ? .today : .get, parameters, timeout: timeout, as: Entry.self)
    if context.json { return .done }
    if let template {
      context.output.composed(template.filled(with: entry))
    } else if context.appearance.terminal || arguments.has("--card") {
      TipCard(entry: entry, title: id == nil ? "Tip of the day" : "Tip", context: context).show()
    } else {
      showPlain(entry, context)
    }
    return .done
  }

  private static func showPlain(_ entry: Entry, _ context: CommandContext) {
    let output = context.output
    let tip = entry.tip
    output.line(StyledText(tip.title, .strong))
    if !tip.body.isEmpty {
      output.line()
      output.block(tip.body)
    }
    output.line()
    if !tip.tags.isEmpty { output.line(StyledText("tags: " + tip.tags.joined(separator: ", "))) }
    if let url = tip.url { output.line(StyledText(url)) }
    let facts = [tip.id, tip.date, Words.freshness(entry.provenance)].compactMap { $0 }
    output.line(StyledText(facts.joined(separator: " - ")))
  }
}
