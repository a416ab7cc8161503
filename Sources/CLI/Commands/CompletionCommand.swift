import Configuration
import JSON

/// `completion`: a script that lets a shell complete this program's arguments.
enum CompletionCommand {
  static let command = Command(
    "completion", "print the completion script for a shell",
    operands: [Command.Operand("SHELL")],
    details: "SHELL is bash, zsh or fish. Packages install it; this is for a shell of your own.",
    examples: [
      ("completion bash > ~/.local/share/bash-completion/completions/brewlogctl", "for bash"),
      ("completion zsh > ~/.zfunc/_brewlogctl", "for zsh, with ~/.zfunc in fpath"),
      ("completion fish > ~/.config/fish/completions/brewlogctl.fish", "for fish"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let given = context.arguments.operands[0]
    guard let shell = CompletionShell(rawValue: given) else {
      let names = CompletionShell.allCases.map(\.rawValue)
      throw context.arguments.usage(
        "there is no script for \"\(given)\"\(Nearest.hint(given, in: names)); there is one for "
          + names.joined(separator: ", "))
    }
    if context.json {
      context.output.json(["shell": .string(shell.rawValue), "script": .string(shell.script)])
    } else {
      context.output.block(shell.script)
    }
    return .done
  }
}
