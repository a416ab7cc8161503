import BrewlogAPI
import CLI
import Execution
import Glibc
import Platform

/// One run of `brewlogctl` inside the test, in a world that the test describes.
struct Invocation {
  /// 2026-11-30 14:00 UTC, as all moments of these tests.
  static let now = WallTime(milliseconds: 1796047200_000)

  var arguments: [String]
  var width = 80
  var height = 24
  var terminal = false
  var locale = "en_GB.UTF-8"
  var variables: [String: String] = [:]
  var input: [UInt8] = []
  var inputIsTerminal = false
  var uid: UInt32 = getuid()
  var groupOfFile: String?
  var users: [String: UInt32] = [:]
  var port: (any DaemonPort)?
  /// Where all output goes, unless it is collected: a terminal's lower end.
  var output: Int32?
  /// What a person types when asked.
  var typed = ""
  /// The true time, for what is held against another clock.
  var isNow = false

  struct Outcome: Sendable {
    var exit: ExitCode
    var out: String
    var err: String

    var lines: [String] {
      out.split(separator: "\n", omittingEmptySubsequences: false).map(String.init).dropLast()
    }
  }

  init(_ arguments: String...) {
    self.arguments = arguments
  }

  func on(_ daemon: ScriptedDaemon) -> Outcome {
    run(socket: daemon.path)
  }

  func run(socket: String? = nil) -> Outcome {
    let (input, users, group) = (input, users, groupOfFile)
    let screen = output.flatMap(CLIEnvironment.terminalSize)
    let size = screen ?? (terminal ? TerminalSize(columns: width, rows: height) : nil)
    let (terminal, typed) = (terminal || screen != nil, Array(typed.utf8))
    let isNow = isNow
    var all = variables
    all["LANG"] = locale
    var environment = CLIEnvironment(
      variables: all, uid: uid, standardInputIsTerminal: inputIsTerminal,
      standardOutputIsTerminal: terminal, standardErrorIsTerminal: terminal,
      terminalSize: { size }, now: { isNow ? SystemClock.wallTime : Self.now },
      utcOffset: { _ in 0 },
      readInput: { Array(input.prefix($0 + 1)) }, uidOfUser: { users[$0] },
      groupOfFile: { _ in group })
    environment.readTyped = { typed }
    environment.pause = { _, _ in nil }
    let collected = Locked((out: "", err: ""))
    let exit = CommandLineTool.run(
      (socket.map { ["--socket", $0] } ?? []) + arguments, environment: environment,
      sink: { channel, text in
        if let output {
          let bytes = Array(text.utf8)
          _ = write(output, bytes, bytes.count)
        }
        collected.withLock { texts in
          if channel == .standardOutput { texts.out += text } else { texts.err += text }
        }
      },
      connect: { port ?? SocketDaemon(path: $0.path) })
    return collected.withLock { Outcome(exit: exit, out: $0.out, err: $0.err) }
  }
}
