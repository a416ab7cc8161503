import BrewlogAPI

/// The shells that a completion script can be made for.
package enum CompletionShell: String, CaseIterable, Sendable {
  case bash, zsh, fish

  var script: String {
    switch self {
    case .bash: BashCompletion.script
    case .zsh: ZshCompletion.script
    case .fish: FishCompletion.script
    }
  }
}

/// What can stand in a placeholder's place. Tips' ids are left out on purpose: they are the
/// upstream's words, and shells evaluate what completion gives them.
enum CompletionValue: Equatable {
  case files, directories
  case words([String])
  case nothing

  init(placeholder: String) {
    self =
      switch placeholder {
      case "PATH", "FILE": .files
      case "DIR": .directories
      case "WHEN": .words(ColourChoice.allCases.map(\.rawValue))
      case "SHELL": .words(CompletionShell.allCases.map(\.rawValue))
      case "METHOD": .words(Self.methods)
      case "RATING": .words((1...5).map(String.init))
      default: .nothing
      }
  }

  private static var methods: [String] {
    APIMethod.allCases.compactMap { $0.rawValue.split(separator: ".").last.map(String.init) }
  }
}

/// What the three scripts are made of, out of the command table alone.
enum CompletionModel {
  static var commands: [Command] { CommandTable.all }

  static let global = ParsedArguments.globalOptions

  /// Every option that takes a value. An option means the same in every command; a test holds that.
  static var valueOptions: [OptionSpec] {
    var seen: Set<String> = []
    return (global + commands.flatMap(\.options)).filter {
      $0.value != nil && seen.insert($0.name).inserted
    }
  }

  /// In single quotes, for any of the shells.
  static func quoted(_ text: String, quote: String = #"'\''"#) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: quote)
      + "'"
  }
}
