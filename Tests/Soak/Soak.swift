import DemoUpstream
import Glibc
import Platform
import TestSupport

/// What the kernel says of the daemon's process.
struct Footprint: CustomStringConvertible {
  var privateKilobytes = 0
  var descriptors = 0
  var threads = 0

  init(of pid: Int32) {
    for line in Self.read("/proc/\(pid)/status").split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" }
      guard words.count > 1, let number = Int(words[1]) else { continue }
      if words[0] == "RssAnon:" { privateKilobytes = number }
      if words[0] == "Threads:" { threads = number }
    }
    if let directory = opendir("/proc/\(pid)/fd") {
      defer { closedir(directory) }
      while let entry = readdir(directory) {
        if entry.pointee.d_name.0 != UInt8(ascii: ".") { descriptors += 1 }
      }
    }
  }

  var description: String {
    "\(privateKilobytes) kB private, \(descriptors) descriptors, \(threads) threads"
  }

  private static func read(_ path: String) -> String {
    let raw = open(path, O_RDONLY | O_CLOEXEC)
    guard raw >= 0 else { return "" }
    defer { close(raw) }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = Glibc.read(raw, &buffer, buffer.count)
    return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
  }
}

struct SoakFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// A signed-in daemon with an upstream of its own, both ended with the value.
final class SoakStage {
  let upstream: DemoUpstream
  let daemon: DaemonFixture

  init(_ sections: [String: [String]]) throws {
    upstream = try DemoUpstream(DemoOptions())
    daemon = try DaemonFixture(upstream: upstream.baseURL, sections)
    try daemon.start()
  }

  deinit {
    daemon.end()
    upstream.close()
  }

  var footprint: Footprint {
    get throws { Footprint(of: try daemon.process.pid) }
  }

  /// The parameters of an import of the tokens that the upstream handed out last.
  var tokens: String {
    let tokens = upstream.tokens
    return "{\"accessToken\":\"\(tokens.access)\",\"refreshToken\":\"\(tokens.refresh)\"}"
  }
}

func runSoak() {
  let arguments = CommandLine.arguments.dropFirst()
  let number = arguments.dropFirst().first.flatMap { Int($0) }
  do {
    switch arguments.first {
    case "calls": try CallSoak(calls: number ?? 10_000_000).run()
    case "crowd": try CrowdSoak(each: number ?? 100).run()
    case "connections": try ConnectionSoak(count: number ?? 10_000).run()
    default:
      say("usage: Soak calls|connections|crowd [NUMBER]")
      exit(64)
    }
  } catch {
    say("failed: \(error)")
    exit(1)
  }
}

func say(_ text: String) {
  let bytes = Array((text + "\n").utf8)
  _ = write(STDOUT_FILENO, bytes, bytes.count)
}
