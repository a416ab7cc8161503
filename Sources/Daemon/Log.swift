import BrewlogAPI
import Configuration
package import Execution
import Glibc
import JSON

/// Writes the daemon's log to standard error: with `<N>` prefixes (sd-daemon(3)) where that is the
/// journal, with time stamps elsewhere. Every line goes through the sanitiser (I10).
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

  private let level: Level
  private let isJournal: Bool
  private let wallTime: @Sendable () -> WallTime
  private let write: @Sendable (String) -> Void

  package init(
    level: Level, isJournal: Bool, wallTime: @escaping @Sendable () -> WallTime,
    write: @escaping @Sendable (String) -> Void = Log.standardError
  ) {
    self.level = level
    self.isJournal = isJournal
    self.wallTime = wallTime
    self.write = write
  }

  package func callAsFunction(_ level: Level, _ message: String) {
    guard level <= self.level else { return }
    let text = TextSanitizer.clean(message, limit: 2_000)
    write(
      isJournal
        ? "<\(level.rawValue)>\(text)\n"
        : "\(Timestamps.text(wallTime())) \(name(level)): \(text)\n")
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
