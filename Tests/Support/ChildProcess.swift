import Execution
import Glibc
import Platform

/// A program that a test starts, talks to by signals and waits for, by its pid. Its output is kept.
/// It is killed when the value ends.
///
///     let child = try ChildProcess.start(path, ["--serve"], environment: ["HOME": scratch.path])
///     try #require(child.waitForOutput("ready"))
///     child.send(SIGTERM)
///     #expect(child.wait() == .exited(0))
///
/// Waits block the thread that calls them.
package final class ChildProcess: @unchecked Sendable {
  // Unchecked: `status` is behind its lock, all else is set once.
  package enum Status: Equatable, Sendable, CustomStringConvertible {
    case exited(Int32)
    case signalled(Int32)

    package var description: String {
      switch self {
      case .exited(let code): "exited with \(code)"
      case .signalled(let signal): "ended by signal \(signal)"
      }
    }
  }

  package let pid: Int32
  private let output = OutputCapture()
  private let errors = OutputCapture()
  private let status = Locked<Status?>(nil)

  /// Starts `path` with these arguments (the name of the program comes first by itself) and exactly
  /// this environment. `input` becomes its standard input. `descriptors` are given to it under the
  /// numbers that are the keys; all others are closed, as far as they are close-on-exec.
  package static func start(
    _ path: String, _ arguments: [String] = [], environment: [String: String] = [:],
    input: String? = nil, descriptors: [Int32: Int32] = [:]
  ) throws -> ChildProcess {
    try ChildProcess(path, arguments, environment, input, descriptors)
  }

  private init(
    _ path: String, _ arguments: [String], _ environment: [String: String], _ input: String?,
    _ descriptors: [Int32: Int32]
  ) throws {
    let output = try Pipe()
    let errors = try Pipe()
    let inputFile = try ChildProcess.inputFile(input)
    let (standardOutput, standardError) = (output.writing.rawValue, errors.writing.rawValue)
    let standardInput = inputFile.rawValue
    pid = try Spawning.start(path, arguments, environment: environment) { actions in
      posix_spawn_file_actions_adddup2(&actions, standardInput, 0)
      posix_spawn_file_actions_adddup2(&actions, standardOutput, 1)
      posix_spawn_file_actions_adddup2(&actions, standardError, 2)
      for (number, descriptor) in descriptors {
        posix_spawn_file_actions_adddup2(&actions, descriptor, number)
      }
    }
    try self.output.start(reading: output.takeReading())
    try self.errors.start(reading: errors.takeReading())
  }

  deinit {
    if status.withLock({ $0 }) == nil {
      kill(pid, SIGKILL)
      _ = reap(options: 0)
    }
  }

  /// What it has written so far; all of it after ``wait(atMost:)``.
  package var standardOutput: String { output.text }
  package var standardError: String { errors.text }

  package func send(_ signal: Int32) {
    // Never to a pid that was waited for: it may be somebody else's by now.
    status.withLock { if $0 == nil { _ = Glibc.kill(pid, signal) } }
  }

  /// Asks it to end, and waits.
  @discardableResult
  package func terminate(_ signal: Int32 = SIGTERM) -> Status? {
    send(signal)
    return wait()
  }

  /// Waits for the end. Nil if it is not over in time; then it runs on.
  package func wait(atMost span: Duration = .seconds(30)) -> Status? {
    let limit = SystemClock.now.advanced(by: span)
    while true {
      if let status = status.withLock({ $0 }) ?? reap(options: WNOHANG) {
        // A grandchild may hold the pipes open; that is not waited for.
        output.waitForEnd(atMost: .seconds(5))
        errors.waitForEnd(atMost: .seconds(5))
        return status
      }
      if SystemClock.now >= limit { return nil }
      // No call waits for a child and a time; the test's outcome does not depend on this pause.
      usleep(2000)
    }
  }

  /// Waits until `text` stands in the output (standard output, or standard error). False if the
  /// program closed it or the time was over first.
  package func waitForOutput(
    _ text: String, onError: Bool = false, atMost span: Duration = .seconds(30)
  ) -> Bool {
    (onError ? errors : output).wait(for: span) { $0.contains(text) }
  }

  private func reap(options: Int32) -> Status? {
    status.withLock { known in
      if known != nil { return known }
      var raw: Int32 = 0
      guard waitpid(pid, &raw, options) == pid else { return nil }
      let signal = raw & 0x7F
      known = signal == 0 ? .exited(raw >> 8 & 0xFF) : .signalled(signal)
      return known
    }
  }

  /// A file, not a pipe: nobody has to feed it.
  private static func inputFile(_ text: String?) throws -> FileDescriptor {
    guard let text else { return FileDescriptor(owning: open("/dev/null", O_RDONLY | O_CLOEXEC)) }
    let scratch = try ScratchDirectory()
    let raw = open(scratch.path("input"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard raw >= 0 else { throw SystemError.last("make an input file") }
    let file = FileDescriptor(owning: raw)
    let bytes = Array(text.utf8)
    guard pwrite(raw, bytes, bytes.count, 0) == bytes.count else {
      throw SystemError.last("write an input file")
    }
    return file
  }
}

private struct Pipe: ~Copyable {
  private let reading: FileDescriptor
  let writing: FileDescriptor

  init() throws {
    // By a name, since a bare pipe(2) could leak into a child that another test starts just now.
    let scratch = try ScratchDirectory()
    let name = scratch.path("pipe")
    guard mkfifo(name, 0o600) == 0 else { throw SystemError.last("make a pipe") }
    // Not blocking, or it would wait for a writer.
    let reading = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let writing = open(name, O_WRONLY | O_CLOEXEC)
    self.reading = FileDescriptor(owning: reading)
    self.writing = FileDescriptor(owning: writing)
    _ = fcntl(reading, F_SETFL, 0)
  }

  /// The reading end, to a new owner; closes the writing one.
  consuming func takeReading() -> Int32 {
    reading.release()
  }
}
