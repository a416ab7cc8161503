import BrewlogAPI
import Configuration
package import Execution
import Glibc
import JSON
import Platform
import Systemd

/// The daemon's log. Every line goes through the sanitiser (I10), and the same failure is not
/// written every second (``LogThrottle``).
package struct Log: Sendable {
  /// The levels of syslog(3) that are used here.
  package enum Level: Int, Comparable, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

    init(_ level: DaemonConfiguration.LogLevel) {
      self =
        switch level {
        case .error: .error
        case .warning: .warning
        case .notice: .notice
        case .info: .info
        case .debug: .debug
        }
    }
  }

  /// Where lines go, and in which form.
  package enum Form: Equatable, Sendable {
    /// With fields of their own; to standard error where the journal does not take one.
    case journal
    /// `<N>` in front, sd-daemon(3): standard error leads to a service manager.
    case prefixed
    /// Moment and level in front, for people.
    case timestamped

    package static func fitting(_ environment: [String: String]) -> Form {
      if Journal.isTarget(of: STDERR_FILENO, environment: environment) { return .journal }
      let isManaged = environment["INVOCATION_ID"] != nil || environment["NOTIFY_SOCKET"] != nil
      return isManaged && isatty(STDERR_FILENO) == 0 ? .prefixed : .timestamped
    }
  }

  private struct State {
    var level: Level
    var throttle = LogThrottle()
  }

  private let form: Form
  private let wallTime: @Sendable () -> WallTime
  private let now: @Sendable () -> Instant
  private let write: @Sendable (String) -> Void
  private let state: Locked<State>

  package init(
    level: Level, form: Form,
    wallTime: @escaping @Sendable () -> WallTime = { SystemClock.wallTime },
    now: @escaping @Sendable () -> Instant = { SystemClock.now },
    write: @escaping @Sendable (String) -> Void = Log.standardError
  ) {
    self.form = form
    self.wallTime = wallTime
    self.now = now
    self.write = write
    state = Locked(State(level: level))
  }

  package func callAsFunction(
    _ level: Level, _ message: String, _ fields: LogFields = LogFields()
  ) {
    let now = now()
    let lines = state.withLock { state -> [LogThrottle.Line] in
      guard level <= state.level else { return [] }
      let line = LogThrottle.Line(level: level, message: message, fields: fields)
      return state.throttle.admit(line, at: now)
    }
    for line in lines { emit(line) }
  }

  /// From a reload.
  package func setLevel(_ level: Level) {
    state.withLock { $0.level = level }
  }

  /// Writes what was held back and is due; all of it where the log ends.
  package func flush(all: Bool = false) {
    let now = now()
    for line in state.withLock({ $0.throttle.summaries(at: now, all: all) }) { emit(line) }
  }

  private func emit(_ line: LogThrottle.Line) {
    let text = TextSanitizer.clean(line.message, limit: 2_000)
    if form == .journal, Journal.send(line.fields.entry(level: line.level, message: text)) {
      return
    }
    write(
      form == .timestamped
        ? "\(Timestamps.text(wallTime())) \(name(line.level)): \(text)\n"
        : "<\(line.level.rawValue)>\(text)\n")
  }

  private func name(_ level: Level) -> String {
    switch level {
    case .error: "error"
    case .warning: "warning"
    case .notice: "notice"
    case .info: "info"
    case .debug: "debug"
    }
  }

  /// One write(2) a line: lines of several processes do not mix. A log that cannot be written stops
  /// nothing.
  package static let standardError: @Sendable (String) -> Void = { line in
    let bytes = Array(line.utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
