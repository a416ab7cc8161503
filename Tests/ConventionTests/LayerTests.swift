import Testing

/// What a layer may know, beyond the arrows between targets, which the compiler holds.
@Suite(.timeLimit(.minutes(1)))
struct LayerTests {
  /// The heart does no I/O: it has no way to.
  @Test(arguments: [
    ("Execution", []), ("Session", ["Execution", "Secrets", "Synchronization"]),
    ("Requests", ["Execution", "Secrets", "Session"]),
    // For calendars and texts of dates.
    ("Tips", ["Execution", "FoundationEssentials", "JSON", "Requests", "Session"]),
    ("BrewlogAPI", ["Execution", "JSON", "Varlink"]),
  ])
  func `what decides has no import that could do something`(layer: String, allowed: [String])
    throws
  {
    for file in try Repository.files(in: "Sources/" + layer, endings: [".swift"]) {
      for line in Repository.code(file) {
        let words = line.text.split(separator: " ")
        guard words.dropLast().last == "import", let module = words.last else { continue }
        #expect(allowed.contains(String(module)), "\(file):\(line.number) imports \(module)")
      }
    }
  }

  @Test(arguments: ["Execution", "JSON", "Platform", "Secrets", "Systemd", "Varlink"])
  func `the lower layers do not know what the program is about`(layer: String) throws {
    for file in try Repository.files(in: "Sources/" + layer, endings: [".swift"]) {
      for line in Repository.code(file) {
        let text = line.text.lowercased()
        for word in ["brewlog", "logout", "refresh", "upstream"] {
          #expect(!text.contains(word), "\(file):\(line.number): \(word)")
        }
      }
    }
  }

  /// Two programs are shipped, not a library: what crosses a target is seen in the package alone.
  @Test func `nothing is public`() throws {
    for file in try Repository.files(in: "Sources", endings: [".swift"]) {
      for line in Repository.code(file) {
        let word = line.text.split(separator: " ").first
        #expect(word != "public", "\(file):\(line.number)")
      }
    }
  }

  /// Each says why nothing can go wrong, within three lines; and there are no more of them than the
  /// kernel's and the libraries' wrappers need.
  @Test(arguments: [("Sources", 11), ("Tests/Support", 4)])
  func `what the compiler does not check is counted and explained`(folder: String, budget: Int)
    throws
  {
    var count = 0
    for file in try Repository.files(in: folder, endings: [".swift"]) {
      let lines = (Repository.text(file) ?? "").split(
        separator: "\n", omittingEmptySubsequences: false)
      for line in Repository.code(file) {
        guard
          ["@unchecked Sendable", "nonisolated(unsafe)"].contains(where: line.text.contains)
        else { continue }
        count += 1
        let near = lines[max(0, line.number - 4)..<min(lines.count, line.number + 3)]
        let isExplained = near.contains { text in
          text.contains("//") && text.contains("nchecked")
        }
        #expect(isExplained, "\(file):\(line.number) does not say why")
      }
    }
    #expect(count <= budget, "\(folder) has \(count)")
  }

  @Test func `a name's ending says what it is`() throws {
    let kinds = ["Machine": "struct", "Coordinator": "actor"]
    for file in try Repository.files(in: "Sources", endings: [".swift"]) {
      let name = file.split(separator: "/").last ?? ""
      for ending in ["Util", "Helper", "Misc", "Common"] {
        #expect(!name.contains(ending), "\(file)")
      }
      for line in Repository.code(file) {
        let words = line.text.split { !$0.isLetter && !$0.isNumber }
        for (kind, type) in zip(words, words.dropFirst())
        where ["struct", "class", "enum", "actor"].contains(kind) {
          for (ending, expected) in kinds where type.hasSuffix(ending) {
            #expect(kind == expected[...], "\(file):\(line.number)")
          }
        }
      }
    }
  }

  /// A screen of a reader's.
  @Test(arguments: ["Sources", "Tests"])
  func `no function is longer than eighty lines`(folder: String) throws {
    for file in try Repository.files(in: folder, endings: [".swift"]) {
      let lines = (Repository.text(file) ?? "").split(
        separator: "\n", omittingEmptySubsequences: false)
      for (start, line) in lines.enumerated() {
        guard let length = Self.length(ofFunctionAt: start, line, lines) else { continue }
        #expect(length <= 80, "\(file):\(start + 1) has \(length) lines")
      }
    }
  }

  /// Nil where none begins, or one without a body (a protocol's).
  private static func length(
    ofFunctionAt start: Int, _ line: Substring, _ lines: [Substring]
  ) -> Int? {
    let indentation = line.prefix { $0 == " " }
    let words = line.split(separator: " ")
    guard !line.dropFirst(indentation.count).hasPrefix("//"),
      words.contains("func") || words.contains(where: { $0.hasPrefix("init(") })
    else { return nil }
    for (offset, next) in lines[(start + 1)...].enumerated() {
      guard !next.isEmpty, next.prefix(while: { $0 == " " }).count <= indentation.count else {
        continue
      }
      let text = next.dropFirst(indentation.count)
      if text == "}" { return offset + 2 }
      // The rest of a signature that takes several lines.
      guard text.hasPrefix(")") || text.hasPrefix("{") else { return nil }
    }
    return nil
  }

  /// The project stands alone.
  @Test(arguments: ["Sources", "Tests", "config", "systemd"])
  func `nothing refers to a place of one machine`(folder: String) throws {
    let endings = [
      ".swift", ".c", ".h", ".md", ".py", ".sh", ".scd", ".service", ".socket", ".conf",
    ]
    for file in try Repository.files(in: folder, endings: endings) {
      let text = Repository.text(file) ?? ""
      for place in ["/" + "work/", "/" + "shared/"] {
        let isNamed = text.split(separator: "\n").contains { line in
          line.contains(" " + place) || line.contains("\"" + place) || line.contains(".." + place)
        }
        #expect(!isNamed, "\(file) names \(place)")
      }
    }
  }
}
