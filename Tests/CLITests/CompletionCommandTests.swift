import CLI
import FoundationEssentials
import TestSupport
import Testing

/// The scripts are tried in the shells themselves, where they are installed.
@Suite(.timeLimit(.minutes(1)))
struct CompletionCommandTests {
  private static func path(of shell: String) -> String? {
    ["/usr/bin/", "/bin/"].map { $0 + shell }.first(where: FileManager.default.fileExists)
  }

  private func script(_ shell: String) -> String {
    let outcome = Invocation("completion", shell).run()
    #expect(outcome.exit == .done)
    #expect(outcome.err.isEmpty)
    return outcome.out
  }

  /// What a shell says to `program`, run with the completion script loaded.
  private func run(_ shell: String, _ program: String) throws -> String {
    let child = try ChildProcess.start(
      #require(Self.path(of: shell)), shell == "bash" ? ["--norc", "--noprofile"] : [],
      environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"],
      input: script(shell) + program)
    #expect(child.wait() == .exited(0), "\(child.standardError)")
    return child.standardOutput
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `each script is well-formed`(shell: String) throws {
    guard let path = Self.path(of: shell) else { return }
    let child = try ChildProcess.start(path, ["-n"], input: script(shell))
    #expect(child.wait() == .exited(0), "\(child.standardError)")
    #expect(child.standardError.isEmpty)
  }

  @Test(
    arguments: [
      ("st", ["status"]), ("--color = al", ["always"]),
      ("--color ''", ["auto", "always", "never"]),
      ("tip --car", ["--card"]), ("--socket /x can-i Log", ["Login", "Logout"]),
      ("completion ''", ["bash", "zsh", "fish"]), ("rate x ''", ["1", "2", "3", "4", "5"]),
      ("--instance tip sta", ["status"]), ("tip ''", []), ("--format ''", []),
      ("status --js", ["--json"]),
    ] as [(String, [String])])
  func `bash completes commands, options and their values`(
    line: String, words: [String]
  ) throws {
    let said = try run(
      "bash",
      """
      COMP_WORDS=(brewlogctl \(line))
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _brewlogctl
      if ((${#COMPREPLY[@]})); then printf '%s\\n' "${COMPREPLY[@]}"; fi

      """)
    #expect(said.split(separator: "\n").map(String.init) == words)
  }

  @Test func `bash completes every command there is`() throws {
    let said = try run(
      "bash", "COMP_WORDS=(brewlogctl ''); COMP_CWORD=1; _brewlogctl; echo \"${COMPREPLY[@]}\"\n")
    #expect(
      said.split(whereSeparator: \.isWhitespace).map(String.init) == CommandTable.all.map(\.name))
  }

  @Test(
    arguments: [
      ("st", "status"), ("tip --car", "--card"), ("can-i Logo", "Logout"),
      ("--color ne", "never"), ("completion zs", "zsh"),
    ])
  func `fish completes commands, options and their values`(line: String, word: String) throws {
    guard Self.path(of: "fish") != nil else { return }
    let said = try run("fish", "complete -C 'brewlogctl \(line)'\n")
    #expect(said.split { $0.isWhitespace }.first.map(String.init) == word)
  }

  @Test func `an option takes a value in every command or in none`() {
    var specs: [String: String?] = [:]
    for spec in CommandTable.all.flatMap(\.options) + ParsedArguments.globalOptions {
      if let known = specs[spec.name] {
        #expect((known == nil) == (spec.value == nil), "\(spec.name)")
      }
      specs[spec.name] = spec.value
    }
  }

  @Test func `a shell without a script is named, with those that have one`() {
    let outcome = Invocation("completion", "fihs").run()
    #expect(outcome.exit == .usage)
    #expect(outcome.err.contains("did you mean fish?"))
    #expect(outcome.err.contains("bash, zsh, fish"))
  }
}
