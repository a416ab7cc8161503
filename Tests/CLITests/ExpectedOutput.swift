import CLI
import Execution
import FoundationEssentials
import Glibc
import Platform
import TestSupport
import Testing

/// What a command prints in every kind of place, held against a file that a person can read. With
/// BREWLOG_WRITE_EXPECTED=1 in the environment the files are written instead.
struct ExpectedOutput {
  private static let widths = [40, 80, 200]
  private static let locales = ["en_GB.UTF-8", "C"]

  private let directory: String
  private let writes: Bool

  init(file: String = #filePath) {
    directory =
      file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/") + "/Expected"
    writes = ProcessInfo.processInfo.environment["BREWLOG_WRITE_EXPECTED"] == "1"
  }

  func check(_ name: String, _ arguments: [String], _ daemon: ScriptedDaemon?) throws {
    let path = "\(directory)/\(name).txt"
    let present = try Self.text(arguments, daemon)
    if writes {
      #expect(FileManager.default.createFile(atPath: path, contents: Data(present.utf8)))
      return
    }
    let data = try #require(FileManager.default.contents(atPath: path), "\(path) is missing")
    let expected = String(decoding: data, as: UTF8.self)
    if present == expected { return }
    let (was, now) = (expected.split(separator: "\n"), present.split(separator: "\n"))
    let line = zip(was, now).first { $0 != $1 }.map { "\n- \($0)\n+ \($1)" } ?? ""
    Issue.record("\(name) prints something else than \(path):\(line)")
  }

  /// Places where it prints the same stand over one text.
  private static func text(_ arguments: [String], _ daemon: ScriptedDaemon?) throws -> String {
    var sections: [(places: [String], text: String)] = []
    func add(_ place: String, _ text: String) {
      if let same = sections.firstIndex(where: { $0.text == text }) {
        sections[same].places.append(place)
      } else {
        sections.append(([place], text))
      }
    }
    for width in widths {
      for locale in locales {
        var piped = Invocation()
        piped.arguments = arguments
        piped.locale = locale
        piped.variables = ["COLUMNS": String(width)]
        let outcome = daemon.map(piped.on) ?? piped.run()
        add("pipe \(width) \(locale)", shown(outcome.out, outcome.err, outcome.exit))
        let screen = try onTerminal(arguments, width, locale, daemon, colour: false)
        expectFits(screen, width, arguments)
        add("terminal \(width) \(locale)", screen)
      }
    }
    add(
      "terminal 80 colour", try onTerminal(arguments, 80, locales[0], daemon, colour: true))
    return sections.map { section in
      section.places.map { "== \($0)\n" }.joined() + section.text
    }.joined(separator: "\n")
  }

  /// Through a real terminal: what comes out at its upper end.
  private static func onTerminal(
    _ arguments: [String], _ width: Int, _ locale: String, _ daemon: ScriptedDaemon?, colour: Bool
  ) throws -> String {
    let terminal = try PseudoTerminal(columns: width, rows: 30)
    let lower = try terminal.open()
    let raw = lower.rawValue
    #expect(isatty(raw) == 1)
    terminal.read()
    var invocation = Invocation()
    invocation.arguments = arguments + (colour ? [] : ["--color", "never"])
    (invocation.locale, invocation.output) = (locale, raw)
    invocation.variables = ["TERM": "xterm"]
    let outcome = daemon.map(invocation.on) ?? invocation.run()
    close(lower.release())
    return shown(terminal.wholeOutput(), "", outcome.exit)
  }

  private static func shown(_ out: String, _ err: String, _ exit: ExitCode) -> String {
    let text = out + err.split(separator: "\n").map { "stderr: \($0)\n" }.joined()
    return text.split(separator: "\r\n").isEmpty && text.isEmpty
      ? "exit \(exit.rawValue)\n"
      : text.unicodeScalars.map { scalar in
        switch scalar {
        case "\u{1B}": "\\e"
        case "\r": ""
        default: String(scalar)
        }
      }.joined() + "exit \(exit.rawValue)\n"
  }

  /// No line is wider than a usual terminal, but for addresses and usage lines, which are never
  /// broken, and JSON. On
  /// narrower ones help is not broken either: it is held to its text alone.
  private static func expectFits(_ text: String, _ width: Int, _ arguments: [String]) {
    if width < 80 || arguments.contains("--json") || arguments.contains("completion") { return }
    for line in text.split(separator: "\n")
    where DisplayWidth.of(String(line)) > width && !line.contains("://")
      && !line.contains("\\e") && !line.hasPrefix("Usage: ")
    {
      Issue.record("\(arguments) at \(width): \(line)")
    }
  }
}
