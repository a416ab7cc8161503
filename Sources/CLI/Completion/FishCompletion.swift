/// For fish 3 and later.
enum FishCompletion {
  static var script: String {
    var lines = [
      "# fish completion for brewlogctl; made by: brewlogctl completion fish",
      "function __brewlogctl_command",
      "  set -l words (commandline -opc)",
      "  set -l skip 0",
      "  for word in $words[2..-1]",
      "    if test $skip = 1",
      "      set skip 0",
      "      continue",
      "    end",
      "    switch $word",
      "      case \(CompletionModel.valueOptions.map(\.name).joined(separator: " "))",
      "        set skip 1",
      "      case '-*'",
      "      case '*'",
      "        echo $word",
      "        return 0",
      "    end",
      "  end",
      "  return 1",
      "end",
      "",
      "complete -c brewlogctl -f",
    ]
    lines += CompletionModel.global.map { option($0, condition: nil) }
    for command in CompletionModel.commands {
      lines.append(
        "complete -c brewlogctl -n 'not __brewlogctl_command >/dev/null' -a \(command.name) -d "
          + quoted(command.summary))
    }
    for command in CompletionModel.commands {
      let condition = "contains -- \(command.name) (__brewlogctl_command)"
      lines += command.options.map { option($0, condition: condition) }
      for operand in command.operands {
        if case .words(let words) = CompletionValue(placeholder: operand.name) {
          lines.append(
            "complete -c brewlogctl -n \(quoted(condition)) -a "
              + quoted(words.joined(separator: " ")))
        }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func option(_ spec: OptionSpec, condition: String?) -> String {
    var line = "complete -c brewlogctl"
    if let condition { line += " -n \(quoted(condition))" }
    line += " -l \(spec.name.dropFirst(2))"
    if let placeholder = spec.value {
      switch CompletionValue(placeholder: placeholder) {
      case .files: line += " -r -F"
      case .directories: line += " -x -a '(__fish_complete_directories)'"
      case .words(let words): line += " -x -a \(quoted(words.joined(separator: " ")))"
      case .nothing: line += " -x"
      }
    }
    return line + " -d " + quoted(spec.help)
  }

  private static func quoted(_ text: String) -> String {
    CompletionModel.quoted(text, quote: #"\'"#)
  }
}
