/// For zsh's own completion system (zshcompsys(1)).
enum ZshCompletion {
  static var script: String {
    let commands = CompletionModel.commands
    let names = commands.map {
      "    " + CompletionModel.quoted("\($0.name):\($0.summary.replacing(":", with: "\\:"))")
    }
    let cases = commands.map { command -> String in
      let specs =
        command.options.map(specification)
        + command.operands.map { operand in
          let action = action(CompletionValue(placeholder: operand.name))
          return CompletionModel.quoted(
            (operand.optional ? "::" : ":") + operand.name.lowercased() + ":" + action)
        } + CompletionModel.global.map(specification)
      return "        \(command.name)) _arguments \(specs.joined(separator: " ")) ;;"
    }
    return """
      #compdef brewlogctl
      # zsh completion for brewlogctl; made by: brewlogctl completion zsh
      _brewlogctl() {
        local curcontext=$curcontext state line
        typeset -A opt_args
        local -a commands
        commands=(
      \(names.joined(separator: "\n"))
        )
        _arguments -C \(CompletionModel.global.map(specification).joined(separator: " ")) \\
          '1:command:->command' '*::argument:->argument'
        case $state in
          command) _describe -t commands command commands ;;
          argument)
            case $words[1] in
      \(cases.joined(separator: "\n"))
            esac
            ;;
        esac
      }

      # Sourced, it announces itself; from a directory of $fpath, it is the function's body.
      if [[ $funcstack[1] == _brewlogctl ]]; then
        _brewlogctl "$@"
      else
        compdef _brewlogctl brewlogctl
      fi

      """
  }

  private static func specification(_ spec: OptionSpec) -> String {
    let help = spec.help.map { "[]:\\".contains($0) ? "\\\($0)" : String($0) }.joined()
    let value = spec.value.map { placeholder in
      ":\(placeholder.lowercased()):" + action(CompletionValue(placeholder: placeholder))
    }
    return CompletionModel.quoted(
      spec.name + (value == nil ? "" : "=") + "[\(help)]" + (value ?? ""))
  }

  private static func action(_ value: CompletionValue) -> String {
    switch value {
    case .files: "_files"
    case .directories: "_files -/"
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .nothing: " "
    }
  }
}
