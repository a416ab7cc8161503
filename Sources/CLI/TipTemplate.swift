import BrewlogAPI
import Configuration

/// `--format`: text with the tip's fields in braces. It is taken apart before the daemon is asked,
/// so that a misspelt field is a usage error and not an empty place in the output.
struct TipTemplate {
  static let fields: [(name: String, help: String)] = [
    ("id", "what tip and rate take"), ("date", "the day, YYYY-MM-DD, where the tip has one"),
    ("title", "on one line"), ("body", "its lines as they are"),
    ("tags", "separated by commas"), ("url", "where the tip is to be read, if anywhere"),
    ("source", "cache, network or revalidated"), ("age", "in seconds since it was fetched"),
    ("fetchedAt", "the moment, RFC 3339"), ("freshness", "in words: fetched 3 min ago"),
    ("stale", "true or false: the upstream could not be asked"),
  ]

  private static let fieldNames = fields.map(\.name)

  private enum Part {
    case text(String)
    case field(String)
  }

  private var parts: [Part] = []

  init(_ template: String, _ arguments: ParsedArguments) throws(CommandFailure) {
    var rest = template[...]
    var text = ""
    while let character = rest.popFirst() {
      switch (character, rest.first) {
      case ("\\", "n"): (text, rest) = (text + "\n", rest.dropFirst())
      case ("\\", "t"): (text, rest) = (text + "\t", rest.dropFirst())
      case ("\\", "\\"): (text, rest) = (text + "\\", rest.dropFirst())
      case ("{", "{"), ("}", "}"): (text, rest) = (text + String(character), rest.dropFirst())
      case ("{", _):
        guard let end = rest.firstIndex(of: "}") else {
          throw arguments.usage("--format has a \"{\" without its \"}\"")
        }
        let name = String(rest[..<end])
        guard Self.fieldNames.contains(name) else {
          throw arguments.usage(
            "--format has no field {\(name)}\(Nearest.hint(name, in: Self.fieldNames))")
        }
        parts += [.text(text), .field(name)]
        (text, rest) = ("", rest[rest.index(after: end)...])
      default: text.append(character)
      }
    }
    parts.append(.text(text))
  }

  func filled(with entry: Entry) -> [CommandOutput.Part] {
    parts.map { part in
      switch part {
      case .text(let text): .own(text)
      case .field(let name): .foreign(value(name, of: entry))
      }
    }
  }

  private func value(_ name: String, of entry: Entry) -> String {
    let (tip, provenance) = (entry.tip, entry.provenance)
    return switch name {
    case "id": tip.id
    case "date": tip.date ?? ""
    case "title": DisplayText.line(tip.title)
    case "body": tip.body
    case "tags": tip.tags.joined(separator: ", ")
    case "url": tip.url ?? ""
    case "source": provenance.source.name
    case "age": String(provenance.ageSeconds)
    case "fetchedAt": provenance.fetchedAt
    case "freshness": Words.freshness(provenance)
    case "stale": String(provenance.stale)
    default: ""
    }
  }
}
