import Testing

/// What README, manuals and the targets' pages say is there.
@Suite(.timeLimit(.minutes(1)))
struct DocumentTests {
  private static func words(between quotes: String, in text: String) -> [Substring] {
    text.split(separator: quotes, omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map(\.element)
  }

  /// The Swift targets below `Sources` but the programs' own, which are one line each.
  private static func layers() throws -> [String] {
    let programs = ["brewlogd", "brewlogctl", "brewlog-demo-upstream"]
    return Set(
      try Repository.files(in: "Sources", endings: [".swift"])
        .map { String($0.split(separator: "/")[1]) }
    ).subtracting(programs).sorted()
  }

  @Test func `every target has a page that says what it is and what it must never know`() throws {
    let layers = try Self.layers()
    #expect(layers.count > 10)
    for layer in layers {
      let page = try #require(
        Repository.text("Sources/\(layer)/\(layer).docc/\(layer).md"), "\(layer)")
      #expect(page.hasPrefix("# ``\(layer)``\n"), "\(layer)")
      #expect(
        page.contains("must never") || page.contains("must\nnever"), "\(layer)")
    }
  }

  @Test func `what a target's page lists is declared in the target`() throws {
    for layer in try Self.layers() {
      let page = try #require(Repository.text("Sources/\(layer)/\(layer).docc/\(layer).md"))
      let code = try Repository.files(in: "Sources/" + layer, endings: [".swift"])
        .flatMap { Repository.code($0).map { String($0.text) } }
      for symbol in Self.words(between: "``", in: page).dropFirst() {
        let name = symbol.prefix { $0 != "(" && $0 != "/" }
        let isDeclared = code.contains { line in
          let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
          return zip(words, words.dropFirst()).contains { kind, word in
            word == name
              && ["struct", "class", "enum", "actor", "protocol", "func", "typealias"]
                .contains(kind)
          }
        }
        #expect(isDeclared, "\(layer).md lists \(symbol)")
      }
    }
  }

  /// What README shows as code: spans between backquotes and indented lines.
  private static func shownCode() throws -> [String] {
    let readme = try #require(Repository.text("README.md"))
    let indented = readme.split(separator: "\n").filter { $0.hasPrefix("    ") }
    return (words(between: "`", in: readme) + indented).map { piece in
      String(piece.drop { $0 == " " })
    }
  }

  /// The word after the program's name, where the code begins with it.
  private static func operands(of program: String) throws -> [Substring] {
    try shownCode().compactMap { code in
      let words = code.split(separator: " ")
      guard words.count > 1, words[0] == program[...], words[1].first?.isLowercase == true else {
        return nil
      }
      return words[1]
    }
  }

  @Test func `every make target that README names exists and has help`() throws {
    let makefile = try #require(Repository.text("Makefile"))
    let targets = makefile.split(separator: "\n").compactMap { line -> Substring? in
      guard let colon = line.firstIndex(of: ":"), line.contains(" ## ") else { return nil }
      return line[..<colon]
    }
    let named = try Self.operands(of: "make")
    #expect(named.count > 10)
    for name in named { #expect(targets.contains(name), "make \(name)") }
  }

  @Test func `every command of brewlogctl that README shows exists`() throws {
    let commands = try Repository.files(in: "Sources/CLI/Commands", endings: ["Command.swift"])
      .compactMap { Repository.text($0) }
    let shown = try Self.operands(of: "brewlogctl")
    #expect(shown.count > 5)
    for name in shown {
      #expect(
        commands.contains { $0.contains("= Command(\n    \"\(name)\",") }, "brewlogctl \(name)")
    }
  }

  @Test func `every path that README names exists`() throws {
    let readme = try #require(Repository.text("README.md"))
    for word in Self.words(between: "`", in: readme) {
      let folders = ["Sources/", "Tests/", "config/", "systemd/"]
      guard folders.contains(where: { word.hasPrefix($0) }), !word.contains("*") else { continue }
      #expect(Repository.exists(String(word)), "\(word)")
    }
  }

  @Test func `each invariant of README is named by a test`() throws {
    let readme = try #require(Repository.text("README.md"))
    let numbers = readme.split(separator: "\n").compactMap { line -> Substring? in
      let cells = line.split(separator: "|")
      guard let name = cells.first.map({ $0.filter { $0 != " " } }), name.first == "I",
        Int(name.dropFirst()) != nil
      else { return nil }
      return Substring(name)
    }
    #expect(numbers.count == 11)
    let tests = try Repository.files(in: "Tests", endings: [".swift"])
      .filter { !$0.hasPrefix("Tests/ConventionTests/") }
      .compactMap { Repository.text($0) }
      .map { $0.split { !$0.isLetter && !$0.isNumber } }
    for number in numbers {
      #expect(tests.contains { $0.contains(number) }, "\(number)")
    }
  }
}
