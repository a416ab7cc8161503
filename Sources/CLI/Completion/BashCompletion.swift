/// For bash 4 and later; needs no bash-completion package.
enum BashCompletion {
  static var script: String {
    let names = CompletionModel.commands.map(\.name).joined(separator: " ")
    return """
      # bash completion for brewlogctl; made by: brewlogctl completion bash
      _brewlogctl_words() {
        mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
      }

      _brewlogctl() {
        local current=${COMP_WORDS[COMP_CWORD]} previous='' command='' index=1 count=0
        COMPREPLY=()
        if ((COMP_CWORD > 0)); then previous=${COMP_WORDS[COMP_CWORD - 1]}; fi
        # bash takes --option=value apart at the sign.
        if [[ $current == = ]]; then
          current=''
        elif [[ $previous == = ]] && ((COMP_CWORD > 1)); then
          previous=${COMP_WORDS[COMP_CWORD - 2]}
        fi
        case $previous in
      \(values(indent: "    "))
        esac
        while ((index < COMP_CWORD)); do
          case ${COMP_WORDS[index]} in
            \(CompletionModel.valueOptions.map(\.name).joined(separator: " | ")))
              index=$((index + 1))
              if [[ ${COMP_WORDS[index]-} == = ]]; then index=$((index + 1)); fi
              ;;
            -*) ;;
            *)
              if [[ -z $command ]]; then
                command=${COMP_WORDS[index]}
              else
                count=$((count + 1))
              fi
              ;;
          esac
          index=$((index + 1))
        done
        if [[ $current == -* ]]; then
          case $command in
      \(options(indent: "      "))
            *) _brewlogctl_words '\(global)' "$current" ;;
          esac
          return
        fi
        if [[ -z $command ]]; then
          _brewlogctl_words '\(names)' "$current"
          return
        fi
        case $command:$count in
      \(operands(indent: "    "))
        esac
      }

      complete -F _brewlogctl brewlogctl

      """
  }

  private static var global: String {
    CompletionModel.global.map(\.name).joined(separator: " ")
  }

  private static func values(indent: String) -> String {
    CompletionModel.valueOptions.map { spec in
      let action = action(CompletionValue(placeholder: spec.value ?? "")) ?? ""
      return "\(indent)\(spec.name)) \(action.isEmpty ? "" : action + "; ")return ;;"
    }.joined(separator: "\n")
  }

  private static func options(indent: String) -> String {
    CompletionModel.commands.filter { !$0.options.isEmpty }.map { command in
      let own = command.options.map(\.name).joined(separator: " ")
      return "\(indent)\(command.name)) _brewlogctl_words '\(own) \(global)' \"$current\" ;;"
    }.joined(separator: "\n")
  }

  private static func operands(indent: String) -> String {
    CompletionModel.commands.flatMap { command in
      command.operands.enumerated().compactMap { index, operand in
        action(CompletionValue(placeholder: operand.name)).map {
          "\(indent)\(command.name):\(index)) \($0) ;;"
        }
      }
    }.joined(separator: "\n")
  }

  private static func action(_ value: CompletionValue) -> String? {
    switch value {
    case .files: #"compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current")"#
    case .directories: #"compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current")"#
    case .words(let words):
      "_brewlogctl_words '\(words.joined(separator: " "))' \"$current\""
    case .nothing: nil
    }
  }
}
