import Glibc
import Platform

/// A program that a command has started: `xdg-open`, `systemctl`, or for the self-test the daemon.
/// It gets no standard input, and its output goes where it is told. Ended by its pid alone, and
/// waited for.
final class RunningProgram {
  enum Output {
    case nowhere
    /// Both streams, appended.
    case file(String)
    case descriptor(Int32)
  }

  enum End: Equatable {
    case exited(Int32)
    case signalled(Int32)
  }

  let pid: Int32
  private var end: End?

  /// Looked for in PATH where `program` has no slash.
  init(
    _ program: String, _ arguments: [String], environment: [String: String], output: Output
  ) throws(SystemError) {
    pid = try Spawning.start(program, arguments, environment: environment) { actions in
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      switch output {
      case .nowhere: posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      case .file(let path):
        posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      case .descriptor(let descriptor):
        posix_spawn_file_actions_adddup2(&actions, descriptor, 1)
      }
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
  }

  /// Nothing is sent to a pid that was waited for: it may be somebody else's by now.
  func send(_ signal: Int32) {
    if end == nil { kill(pid, signal) }
  }

  /// Nil: it still runs.
  func wait(atMost span: Duration) -> End? {
    let limit = ContinuousClock.now + span
    while true {
      if let end { return end }
      var raw: Int32 = 0
      if waitpid(pid, &raw, WNOHANG) == pid {
        end = Self.end(of: raw)
        return end
      }
      if ContinuousClock.now >= limit { return nil }
      // No call waits for a child and a time.
      usleep(5000)
    }
  }

  /// Stops all its threads. SIGSTOP reaches those that sleep a moment after it is sent: until the
  /// kernel says that the process has stopped, one of them may still answer somebody.
  func freeze() {
    guard end == nil else { return }
    kill(pid, SIGSTOP)
    var raw: Int32 = 0
    var found: Int32
    repeat { found = waitpid(pid, &raw, WUNTRACED) } while found < 0 && errno == EINTR
    let isStopped = raw & 0xFF == 0x7F
    if found == pid, !isStopped { end = Self.end(of: raw) }
  }

  private static func end(of status: Int32) -> End {
    let signal = status & 0x7F
    return signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
  }

  /// Asks it to end; kills it if it does not.
  @discardableResult
  func stop(_ signal: Int32 = SIGTERM, patience: Duration = .seconds(10)) -> End? {
    send(signal)
    if let end = wait(atMost: patience) { return end }
    send(SIGKILL)
    return wait(atMost: .seconds(5))
  }

  /// Runs a program to its end. Nil where there is no such program, or it takes longer than `span`.
  static func output(
    of program: String, _ arguments: [String], environment: [String: String], atMost span: Duration
  ) -> (end: End, text: String)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    let reading = FileDescriptor(owning: ends[0])
    let writing = FileDescriptor(owning: ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    guard
      let child = try? RunningProgram(
        program, arguments, environment: environment, output: .descriptor(writing.rawValue))
    else { return nil }
    close(writing.release())
    let limit = ContinuousClock.now + span
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while ContinuousClock.now < limit, bytes.count < 1 << 20 {
      let left = ContinuousClock.now.duration(to: limit)
      guard CLIEnvironment.wait(left, for: [reading.rawValue]) != nil else { break }
      let count = read(reading.rawValue, &buffer, buffer.count)
      if count <= 0 { break }
      bytes += buffer.prefix(count)
    }
    guard let end = child.wait(atMost: ContinuousClock.now.duration(to: limit)) else {
      child.stop(SIGKILL)
      return nil
    }
    return (end, String(decoding: bytes, as: UTF8.self))
  }
}
