import BrewlogAPI
import FoundationEssentials
import Glibc
import JSON
import Platform
import Varlink

/// An upstream and a daemon of the self-test's own, in a scratch directory: nothing that is
/// installed is touched but read.
final class SelfTestStage {
  struct Programs {
    let daemon: String
    let upstream: String
  }

  let programs: Programs
  let directory: String
  let context: CommandContext
  private var upstream: RunningProgram?
  private var daemon: RunningProgram?
  private var url = ""

  /// How long a start, a stop or an answer may take before it counts as failed.
  static let patience = Duration.seconds(20)

  init(_ programs: Programs, _ context: CommandContext) throws(CommandFailure) {
    self.programs = programs
    self.context = context
    let parent = context.environment.variables["TMPDIR"] ?? "/tmp"
    do throws(SystemError) {
      directory = try TemporaryDirectory.make(in: parent, prefix: "brewlog-selftest-")
    } catch {
      throw CommandFailure(
        .failed, "no scratch directory: \(error.description)",
        remedy: "Set TMPDIR to a directory that you may write to.")
    }
  }

  /// Ends both programs, whatever state they are in.
  func close(keepingFiles: Bool) {
    daemon?.stop()
    upstream?.send(SIGCONT)
    upstream?.stop()
    if !keepingFiles { try? FileManager.default.removeItem(atPath: directory) }
  }

  func path(_ name: String) -> String { directory + "/" + name }

  func text(of name: String) -> String {
    FileManager.default.contents(atPath: path(name)).map { String(decoding: $0, as: UTF8.self) }
      ?? ""
  }

  // MARK: The upstream

  func startUpstream() throws(CommandFailure) {
    upstream = try start(programs.upstream, ["--log", path("access.log")], output: "upstream.out")
    try wait(for: "the demo upstream's address") {
      let lines = text(of: "upstream.out").split(separator: "\n")
      guard let line = lines.first(where: { $0.hasPrefix("listening on ") }) else { return false }
      url = String(line.dropFirst("listening on ".count))
      return true
    }
  }

  /// It takes connections, as its kernel does so for it, and answers nothing.
  func holdUpstream() { upstream?.freeze() }

  func releaseUpstream() { upstream?.send(SIGCONT) }

  func requests(_ line: String) -> Int {
    text(of: "access.log").split(separator: "\n").count { $0.hasPrefix(line) }
  }

  // MARK: The daemon

  func writeConfiguration() throws(CommandFailure) {
    let text = """
      [Upstream]
      BaseURL=\(url)
      RequestTimeout=1s
      [Refresh]
      Deadline=10s
      [Retry]
      MaxRetries=0
      [Store]
      Directory=\(path("state"))
      [Socket]
      Path=\(path("brewlog.sock"))
      Mode=0600
      Group=
      [Access]
      Read=
      Control=

      """
    guard FileManager.default.createFile(atPath: path("brewlogd.conf"), contents: Data(text.utf8))
    else {
      throw CommandFailure(.failed, "\(path("brewlogd.conf")) could not be written")
    }
  }

  func startDaemon() throws(CommandFailure) {
    daemon = try start(
      programs.daemon, ["--config", path("brewlogd.conf")], output: "brewlogd.log")
    try wait(for: "brewlogd's socket") { () throws(CommandFailure) -> Bool in
      if let end = daemon?.wait(atMost: .zero) {
        throw CommandFailure(.failed, "brewlogd has ended at its start (\(end))")
      }
      return (try? asked().quietly(.status, as: StatusReply.self)) != nil
    }
  }

  /// As a power cut would.
  func killDaemon() {
    daemon?.stop(SIGKILL)
    daemon = nil
  }

  func stopDaemon() -> RunningProgram.End? {
    let end = daemon?.stop()
    daemon = nil
    return end
  }

  /// The stage's daemon, on a new connection.
  func asked() -> CommandContext {
    context.asking(SocketDaemon(path: path("brewlog.sock")))
  }

  func signIn() throws(CommandFailure) {
    _ = try asked().quietly(
      .importCredentials,
      ["accessToken": "dummy-access-0", "refreshToken": "dummy-refresh-0", "account": "selftest"],
      as: SessionReply.self)
  }

  // MARK: Waiting

  func wait(
    for what: String, until condition: () throws(CommandFailure) -> Bool
  ) throws(CommandFailure) {
    let limit = ContinuousClock.now + Self.patience
    while try !condition() {
      guard ContinuousClock.now < limit else {
        throw CommandFailure(
          .failed, "\(what) did not come in \(Self.patience.components.seconds) s")
      }
      usleep(10_000)
    }
  }

  private func start(
    _ program: String, _ arguments: [String], output: String
  ) throws(CommandFailure) -> RunningProgram {
    // Of its own environment, too: no proxy, no other configuration.
    let environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
    do throws(SystemError) {
      return try RunningProgram(
        program, arguments, environment: environment, output: .file(path(output)))
    } catch {
      throw CommandFailure(.failed, error.description)
    }
  }
}
