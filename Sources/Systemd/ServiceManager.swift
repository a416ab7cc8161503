import CSystemd
import Glibc
import Platform

/// What a service tells the one who runs it, sd_notify(3).
package enum ServiceNotice: Equatable, Sendable {
  case ready
  /// A reload has begun; another `ready` says that it is over. The time, CLOCK_MONOTONIC, tells
  /// systemd (253 and later) which of its own signals this answers.
  case reloading(monotonicMicroseconds: UInt64)
  case stopping
  case status(String)
  case aliveAndWell
  /// The start or stop goes on for so long at the most, counted from now.
  case extendTimeout(Duration)

  /// The line of the protocol. A text of ours could hold a line's end; it must not become another
  /// message.
  var line: String {
    switch self {
    case .ready: "READY=1"
    case .reloading(let time): "RELOADING=1\nMONOTONIC_USEC=\(time)"
    case .stopping: "STOPPING=1"
    case .status(let text):
      "STATUS=" + text.split(whereSeparator: \.isNewline).joined(separator: " ")
    case .aliveAndWell: "WATCHDOG=1"
    case .extendTimeout(let span): "EXTEND_TIMEOUT_USEC=\(max(0, span.microseconds))"
    }
  }
}

/// The service manager that started this process, if one did: systemd, or whoever else speaks its
/// protocol over `NOTIFY_SOCKET` (a path, or an abstract name after `@`).
package struct ServiceManager: Sendable {
  private let hasWarned = Locked(false)
  private let warn: @Sendable (String) -> Void

  /// `warn` is called at most once: a service runs on without its manager hearing of it.
  package init(warn: @escaping @Sendable (String) -> Void) {
    self.warn = warn
  }

  /// All in one message, so that they take effect together. Nothing happens where nobody listens.
  package func notify(_ notices: ServiceNotice...) {
    let code = csystemd_notify(notices.map(\.line).joined(separator: "\n"))
    guard code < 0 else { return }
    let isFirst = hasWarned.withLock { warned in
      defer { warned = true }
      return !warned
    }
    if isFirst {
      warn(
        "the service manager cannot be told of this service's state (NOTIFY_SOCKET): "
          + SystemError.text(of: -code))
    }
  }

  /// How long the manager waits for the next `aliveAndWell` before it ends this process; nil: it
  /// does not wait for any. sd_watchdog_enabled(3).
  package static var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard csystemd_watchdog(&microseconds) > 0 else { return nil }
    return .microseconds(Int64(clamping: microseconds))
  }

  /// CLOCK_MONOTONIC in microseconds, as `reloading` wants it.
  package static var monotonicMicroseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
  }
}

extension Duration {
  fileprivate var microseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}
