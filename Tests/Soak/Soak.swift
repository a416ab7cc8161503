import DemoUpstream
import Glibc
import Platform
import TestSupport

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
