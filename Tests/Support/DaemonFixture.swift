import FoundationEssentials
import Glibc
import Platform

/// The built `brewlogd` as a process of its own, with its configuration, state and socket in a
/// scratch directory. It can be ended, killed and started again over the same state.
///
///     let daemon = try DaemonFixture(upstream: upstream.baseURL, ["Cache": ["FreshFor=0"]])
///     defer { daemon.end() }
///     try daemon.start()
///
/// Waits block the thread that calls them.
package final class DaemonFixture: Sendable {
  private let scratch: ScratchDirectory
  private let running = Locked<ChildProcess?>(nil)
  private let earlierErrors = Locked("")
  private let sections: [String: [String]]

  /// `sections` are lines to add: `["Retry": ["Backoff=10ms"]]`. "UPSTREAM" in them stands for the
  /// base URL.
  package init(upstream baseURL: String, _ sections: [String: [String]] = [:]) throws {
    scratch = try ScratchDirectory()
    self.sections = sections
    try use(upstream: baseURL)
  }

  /// Writes the configuration anew, for another upstream; the next start reads it.
  package func use(upstream baseURL: String) throws {
    var lines = sections.mapValues { $0.map { $0.replacing("UPSTREAM", with: baseURL) } }
    lines["Upstream", default: []].insert("BaseURL=\(baseURL)", at: 0)
    lines["Store", default: []].insert("Directory=\(stateDirectory)", at: 0)
    lines["Socket", default: []].insert("Path=\(socket)", at: 0)
    lines["Log", default: []].insert("Level=debug", at: 0)
    try configure(
      lines.sorted { $0.key < $1.key }
        .map { "[\($0.key)]\n" + $0.value.joined(separator: "\n") + "\n" }.joined(separator: "\n"))
  }

  /// Where a test may put files of its own.
  package var directory: String { scratch.path }
  /// The socket that clients connect to.
  package var socket: String { scratch.path("run/brewlog.sock") }
  package var stateDirectory: String { scratch.path("state") }
  package var configurationFile: String { scratch.path("brewlogd.conf") }

  /// The client's program, where other users may run it. A process of its own makes the copy: what
  /// this one writes is busy (ETXTBSY) as long as a child that another test has just forked has it
  /// open, too.
  package func clientForOthers() throws -> String {
    let copy = scratch.path("brewlogctl")
    if access(copy, F_OK) == 0 { return copy }
    let child = try ChildProcess.start("/bin/cp", [try Programs.path("brewlogctl"), copy])
    guard child.wait() == .exited(0), chmod(copy, 0o755) == 0, chmod(directory, 0o711) == 0 else {
      throw SystemError.last("copy brewlogctl to \(copy): \(child.standardError)")
    }
    return copy
  }

  /// Replaces the configuration file; the next start reads it.
  package func configure(_ text: String) throws {
    guard FileManager.default.createFile(atPath: configurationFile, contents: Data(text.utf8))
    else { throw SystemError.last("write \(configurationFile)") }
  }

  /// A daemon over this configuration that need not come up: for one that is to be refused.
  package func spawn(_ arguments: [String] = []) throws -> ChildProcess {
    try ChildProcess.start(
      Programs.path("brewlogd"), ["--config", configurationFile] + arguments,
      environment: Programs.environment)
  }

  /// Starts the daemon and waits until it says that it serves.
  package func start() throws {
    let child = try spawn()
    guard child.waitForOutput(" serves ", onError: true) else {
      let status = child.terminate(SIGKILL)
      throw DaemonFailure(
        description: "brewlogd did not come up (\(status?.description ?? "runs")): "
          + child.standardError)
    }
    running.withLock { $0 = child }
  }

  /// The daemon that is running.
  package var process: ChildProcess {
    get throws {
      guard let child = running.withLock({ $0 }) else {
        throw DaemonFailure(description: "brewlogd is not running")
      }
      return child
    }
  }

  /// All that it has logged, earlier runs included.
  package var log: String {
    earlierErrors.withLock { $0 } + (running.withLock { $0?.standardError } ?? "")
  }

  /// Ends it by a signal and waits for the end; nil if that does not come.
  @discardableResult
  package func stop(_ signal: Int32 = SIGTERM) -> ChildProcess.Status? {
    guard let child = running.withLock({ $0.take() }) else { return nil }
    let status = child.terminate(signal)
    earlierErrors.withLock { $0 += child.standardError }
    return status
  }

  /// As a power cut would end it.
  package func crash() { stop(SIGKILL) }

  /// For `defer`: nothing of it is left running.
  package func end() { crash() }
}

package struct DaemonFailure: Error, CustomStringConvertible {
  package let description: String

  package init(description: String) {
    self.description = description
  }
}

/// The programs that were built together with the tests.
package enum Programs {
  /// Beside the test bundle, wherever that was built to.
  package static func path(_ name: String) throws -> String {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let directory = tests.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let path = directory.joined(separator: "/") + "/" + name
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw DaemonFailure(description: "\(path) is missing; `swift build` makes it")
    }
    return path
  }

  /// No backtracer: it would print memory, and hold up the end of a program that crashes.
  package static let environment = ["SWIFT_BACKTRACE": "enable=no", "LC_ALL": "C.UTF-8"]
}
