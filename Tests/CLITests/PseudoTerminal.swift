import CTestDefaults
import Glibc
import Platform
import TestSupport

/// A terminal that the kernel makes (pty(7)): a program at its lower end, a test at its upper one.
final class PseudoTerminal: @unchecked Sendable {
  // Unchecked: all is set once but `text`, which has its lock.
  let upper: FileDescriptor
  let name: String
  private let text = Locked<[UInt8]>([])
  private var reader: SystemThread?

  init(columns: Int, rows: Int) throws {
    var buffer = [CChar](repeating: 0, count: 128)
    let raw = test_open_terminal(&buffer, UInt(buffer.count))
    guard raw >= 0 else { throw SystemError.last("open a terminal") }
    upper = FileDescriptor(owning: raw)
    name = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    resize(columns: columns, rows: rows)
  }

  func resize(columns: Int, rows: Int) {
    var size = winsize(
      ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(upper.rawValue, UInt(TIOCSWINSZ), &size)
  }

  /// The lower end, for a program in this process.
  func open() throws -> FileDescriptor {
    let raw = Glibc.open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard raw >= 0 else { throw SystemError.last("open \(name)") }
    return FileDescriptor(owning: raw)
  }

  /// Collects what comes out of it, from now until the lower end is closed by all.
  func read() {
    let (raw, text) = (upper.rawValue, text)
    reader = SystemThread.start {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = Glibc.read(raw, &buffer, buffer.count)
        // EIO: nobody holds the lower end any more.
        if count <= 0 { return }
        text.withLock { $0 += buffer.prefix(count) }
      }
    }
  }

  /// All of it, once the lower end is closed.
  func wholeOutput() -> String {
    reader?.end()
    reader = nil
    return output
  }

  var output: String { String(decoding: text.withLock { $0 }, as: UTF8.self) }

  func type(_ keys: String) {
    let bytes = Array(keys.utf8)
    _ = write(upper.rawValue, bytes, bytes.count)
  }

  /// False: it did not come in time.
  func waitForOutput(_ expected: String, atMost span: Duration = .seconds(30)) -> Bool {
    let limit = ContinuousClock.now + span
    while !output.contains(expected) {
      if ContinuousClock.now >= limit { return false }
      // No call waits for a text and a time; the outcome does not depend on this pause.
      usleep(2000)
    }
    return true
  }
}

/// `brewlogctl` itself, with a terminal of its own that it is controlled by: Ctrl-C is a signal.
final class TerminalProgram {
  let terminal: PseudoTerminal
  private let pid: pid_t
  private var status: Int32?

  init(
    _ arguments: [String], columns: Int = 80, rows: Int = 40, environment: [String: String]
  ) throws {
    terminal = try PseudoTerminal(columns: columns, rows: rows)
    let name = terminal.name
    pid = try Spawning.start(
      try Programs.path("brewlogctl"), arguments, environment: environment, inNewSession: true
    ) { actions in
      // The first terminal that the leader of a new session opens becomes its controlling one.
      for descriptor in Int32(0)...2 {
        posix_spawn_file_actions_addopen(&actions, descriptor, name, O_RDWR, 0)
      }
    }
    terminal.read()
  }

  deinit {
    if status == nil {
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
    }
  }

  /// Its exit code; minus one where a signal ended it, nil where it still runs.
  func wait(atMost span: Duration = .seconds(30)) -> Int32? {
    let limit = ContinuousClock.now + span
    while status == nil {
      var raw: Int32 = 0
      if waitpid(pid, &raw, WNOHANG) == pid { status = raw & 0x7F == 0 ? raw >> 8 & 0xFF : -1 }
      if ContinuousClock.now >= limit { break }
      usleep(2000)
    }
    return status
  }
}
