import Testing

/// Rules of the source tree that no compiler holds.
@Suite(.timeLimit(.minutes(1)))
struct SourceTests {
  @Test(arguments: [("Sources", 400), ("Tests", 600)])
  func `no file is longer than a reader wants`(folder: String, cap: Int) throws {
    let files = try Repository.files(in: folder, endings: [".swift", ".c", ".h"])
    #expect(!files.isEmpty)
    for file in files {
      let lines = Repository.text(file)?.split(separator: "\n", omittingEmptySubsequences: false)
      #expect((lines?.count ?? 0) <= cap + 1, "\(file)")
    }
  }

  @Test(arguments: [
    ("CLinux", ["Platform"]), ("CSystemd", ["Systemd"]), ("CSodium", ["Secrets"]),
    ("CSQLite", ["Store"]), ("CCurl", ["Upstream"]), ("CMicrohttpd", ["DemoUpstream"]),
    ("CQREncode", ["CLI"]),
  ])
  func `each C library has one importer`(module: String, importers: [String]) throws {
    for file in try Repository.files(in: "Sources", endings: [".swift"]) {
      let target = String(file.split(separator: "/")[1])
      for line in Repository.code(file) {
        let words = line.text.split(separator: " ")
        guard words.count >= 2, words.dropLast().last == "import", words.last == module[...] else {
          continue
        }
        #expect(importers.contains(target), "\(file):\(line.number) imports \(module)")
      }
    }
  }

  /// A trap ends the daemon for all; the global pool's threads come where the design wants one;
  /// the whole of Foundation is four times the program's size.
  @Test(arguments: [
    "try!", "fatalError(", "as!", "Task.detached", "Task.sleep", "AsyncStream", "async let",
    "withTaskGroup", "withThrowingTaskGroup", "withDiscardingTaskGroup", "import Foundation\n",
    "import FoundationNetworking", "Mutex(", "print(",
  ])
  func `what is not to be written is not written`(phrase: String) throws {
    for file in try Repository.files(in: "Sources", endings: [".swift"]) {
      for line in Repository.code(file) {
        let words = " " + line.text + "\n"
        #expect(!Self.finds(phrase, in: words), "\(file):\(line.number): \(phrase)")
      }
    }
  }

  /// As a whole word where it begins with a letter: `blueprint(` is no `print(`.
  private static func finds(_ phrase: String, in text: String) -> Bool {
    var rest = text[...]
    while let range = rest.firstRange(of: phrase) {
      let before =
        range.lowerBound > text.startIndex ? text[text.index(before: range.lowerBound)] : " "
      if !before.isLetter && !before.isNumber && before != "_" && before != "." { return true }
      rest = rest[range.upperBound...]
    }
    return false
  }

  /// Which module owns it depends on which was built first: elsewhere a fresh clone may not build.
  @Test func `signal sets are made in one file`() throws {
    for file in try Repository.files(in: "Sources/Platform", endings: [".swift"])
    where !file.hasSuffix("/SignalSet.swift") {
      for line in Repository.code(file) {
        #expect(!line.text.contains("sigset_t()"), "\(file):\(line.number)")
      }
    }
  }

  /// I4: nothing but the coordinator can make leave to write.
  @Test func `only the coordinator mints permits`() throws {
    for file in try Repository.files(in: "Sources", endings: [".swift"]) {
      let allowed = file.hasPrefix("Sources/Session/SessionCoordinator")
      for line in Repository.code(file) {
        #expect(
          allowed || !line.text.contains("WritePermit(mintedFor"), "\(file):\(line.number)")
      }
    }
  }

  @Test func `tests have a time limit and sentence names`() throws {
    for file in try Repository.files(in: "Tests", endings: [".swift"])
    where !file.hasPrefix("Tests/ConventionTests/SourceTests") {
      let lines = Repository.code(file)
      for line in lines {
        let text = line.text
        if text.contains("@Suite") { #expect(text.contains("timeLimit"), "\(file):\(line.number)") }
        if text.contains("@Test"), text.contains(" func ") {
          #expect(text.contains(" func `"), "\(file):\(line.number)")
        }
        #expect(!text.contains("Task.sleep"), "\(file):\(line.number)")
      }
      if lines.contains(where: { $0.text.hasPrefix("  @Test") }) {
        #expect(lines.contains { $0.text.contains("@Suite") }, "\(file): no time limit")
      }
    }
  }

  @Test func `links in README lead somewhere`() throws {
    for document in ["README.md"] where Repository.exists(document) {
      let text = try #require(Repository.text(document))
      for part in text.split(separator: "](", omittingEmptySubsequences: false).dropFirst() {
        let target = part.prefix { $0 != ")" && $0 != "#" && $0 != " " }
        if target.isEmpty || target.contains("://") || target.hasPrefix("mailto:") { continue }
        #expect(Repository.exists(String(target)), "\(document) links to \(target)")
      }
    }
  }
}
