import TestSupport
import Testing

@testable import Configuration

/// config/brewlogd.conf, the parser and the manual say the same.
@Suite(.timeLimit(.minutes(1)))
struct ShippedFileTests {
  private static let top: String = {
    // Tests/ConfigurationTests/ShippedFileTests.swift, three steps below the top.
    let parts = #filePath.split(separator: "/").dropLast(3)
    return "/" + parts.joined(separator: "/")
  }()
  private static let path = top + "/config/brewlogd.conf"

  private func lines() throws -> [String] {
    guard case .bytes(let bytes) = ConfigurationFiles.system.read(Self.path) else {
      Issue.record("\(Self.path) cannot be read")
      return []
    }
    return String(decoding: bytes, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
  }

  private func isKey(_ line: String) -> Bool {
    line.hasPrefix("#") && line.dropFirst().first?.isUppercase == true && line.contains("=")
  }

  @Test func `it lists every key once, in order, with its default`() throws {
    let uncommented = try lines().map { isKey($0) ? String($0.dropFirst()) : $0 }
    let text = ConfigurationText(
      Array(uncommented.joined(separator: "\n").utf8), file: Self.path)
    #expect(text.problems.isEmpty)
    #expect(
      text.assignments.map { "[\($0.section)] \($0.key)=\($0.value)" }
        == KeyTable.all.map { "[\($0.name.section)] \($0.name.key)=\($0.fallbackText)" })
  }

  @Test func `each key has a line before it that says what it does`() throws {
    let lines = try lines()
    for (index, line) in lines.enumerated() where isKey(line) {
      #expect(lines[index - 1].hasPrefix("# ") && lines[index - 1].hasSuffix("."), "\(line)")
    }
  }

  @Test func `the manual has every key, in order, with its default`() throws {
    let assembly = try ChildProcess.start(
      "/bin/bash", [Self.top + "/Sources/Manual/assemble", "brewlogd.conf.5"],
      environment: ["PATH": "/usr/bin:/bin"])
    #expect(assembly.wait() == .exited(0))
    let entries = assembly.standardOutput.split(separator: "\n")
      .filter { $0.hasPrefix("*") && $0.contains("=*") }
    #expect(
      entries.map { $0.filter { $0 != "\\" } }
        == KeyTable.all.map { "*\($0.name.key)=*\($0.fallbackText)" })
  }

  @Test func `as it is shipped it changes nothing`() throws {
    let text = try lines().joined(separator: "\n")
    var shipped = try load(
      FileTable(files: [mainFile: text + "\n[Upstream]\nBaseURL=http://127.0.0.1:1\n"]))
    var silent = try load("")
    shipped.settings = []
    silent.settings = []
    #expect(shipped == silent)
  }
}
