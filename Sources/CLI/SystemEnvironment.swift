import Execution
import FoundationEssentials
import Glibc
import Platform

extension CLIEnvironment {
  /// The process's own world.
  package static func system() -> CLIEnvironment {
    let variables = ProcessInfo.processInfo.environment
    var environment = CLIEnvironment(
      variables: variables, uid: getuid(),
      standardInputIsTerminal: isatty(STDIN_FILENO) == 1,
      standardOutputIsTerminal: isatty(STDOUT_FILENO) == 1,
      standardErrorIsTerminal: isatty(STDERR_FILENO) == 1,
      terminalSize: { terminalSize(STDOUT_FILENO) }, now: { SystemClock.wallTime },
      utcOffset: utcOffset,
      readInput: readInput, uidOfUser: { Accounts.userID(of: $0) }, groupOfFile: groupOfFile)
    environment.catchSignals = { try? CaughtSignals($0) }
    environment.inputDescriptor = STDIN_FILENO
    environment.readTyped = readTyped
    environment.openBrowser = { openBrowser($0, variables) }
    return environment
  }

  /// ioctl_tty(2), TIOCGWINSZ; a terminal that does not know says 0.
  package static func terminalSize(_ descriptor: Int32) -> TerminalSize? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  @Sendable private static func readTyped() -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(STDIN_FILENO, &buffer, buffer.count)
    return Array(buffer.prefix(max(0, count)))
  }

  /// Only where there is a desktop, and never as root: a browser is not to run with all rights.
  private static func openBrowser(_ address: String, _ variables: [String: String]) -> Bool {
    let hasDesktop = ["WAYLAND_DISPLAY", "DISPLAY"].contains { !(variables[$0] ?? "").isEmpty }
    guard hasDesktop, geteuid() != 0,
      let opener = try? RunningProgram(
        "xdg-open", [address], environment: variables, output: .nowhere)
    else { return false }
    // It ends at once where it hands over to a browser, and goes on where it is one.
    let end = opener.wait(atMost: .seconds(3))
    return end == nil || end == .exited(0)
  }

  @Sendable private static func utcOffset(_ moment: WallTime) -> Int {
    var seconds = time_t(moment.milliseconds / 1000)
    var local = tm()
    guard localtime_r(&seconds, &local) != nil else { return 0 }
    return local.tm_gmtoff
  }

  @Sendable private static func readInput(_ limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while bytes.count <= limit {
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      bytes.append(contentsOf: buffer.prefix(count))
    }
    return bytes
  }

  @Sendable private static func groupOfFile(_ path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    // Enough for any entry that is not made to be long; a longer one counts as unknown.
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { room in
      guard let start = room.baseAddress,
        getgrgid_r(status.st_gid, &entry, start, room.count, &found) == 0, found != nil
      else { return nil }
      return String(cString: entry.gr_name)
    }
  }
}

/// Writes all of it to a descriptor, without a buffer in between: what a stream's event says is
/// there when it happens. Returns an errno, EPIPE where nobody reads any more; 0 when it is done.
package func writeAll(_ text: String, to channel: CommandOutput.Channel) -> Int32 {
  let descriptor = channel == .standardOutput ? STDOUT_FILENO : STDERR_FILENO
  var bytes = Array(text.utf8)[...]
  while !bytes.isEmpty {
    let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    if count > 0 {
      bytes = bytes.dropFirst(count)
    } else if errno != EINTR {
      return errno
    }
  }
  return 0
}
