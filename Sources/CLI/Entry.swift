import Glibc
import Platform

/// The whole program; `main.swift` is one line, since what is written there is isolated to the main
/// actor.
package func runCommandLineTool() -> Never {
  do throws(SystemError) {
    try StandardDescriptors.occupy()
    // Tokens may pass through this process: no core, no tracing (I10).
    try ProcessHardening.apply()
  } catch {
    _ = writeAll("brewlogctl: \(error.description)\n", to: .standardError)
    exit(ExitCode.failed.rawValue)
  }
  let code = CommandLineTool.run(
    Array(CommandLine.arguments.dropFirst()), environment: .system(),
    sink: { channel, text in
      let code = writeAll(text, to: channel)
      if code == 0 || channel == .standardError { return }
      // `brewlogctl history | head`: whoever read has had enough, which is no failure of ours.
      if code == EPIPE { exit(ExitCode.done.rawValue) }
      let reason = SystemError.text(of: code)
      _ = writeAll("brewlogctl: the output could not be written: \(reason)\n", to: .standardError)
      exit(ExitCode.failed.rawValue)
    },
    connect: { SocketDaemon(path: $0.path) })
  exit(code.rawValue)
}
