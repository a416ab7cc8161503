import Execution
package import Platform

/// What an operator should know of connections that were not served.
package enum ServerNotice: Sendable, Equatable {
  /// ``Limits/maxConnections``, or what the process may open, is reached.
  case connectionsExhausted(limit: Int)
  /// One user holds ``Limits/maxConnectionsPerUser``.
  case userExhausted(uid: UInt32, limit: Int)
  /// The system gives no more descriptors.
  case descriptorsExhausted(SystemError)

  fileprivate var kind: Int {
    switch self {
    case .connectionsExhausted: 0
    case .userExhausted: 1
    case .descriptorsExhausted: 2
    }
  }
}

/// Lets through one notice of a kind in an interval: a flood of refused connections must not
/// become a flood of log lines.
struct NoticeThrottle {
  private let interval: Duration
  private let report: @Sendable (ServerNotice) -> Void
  private var quietUntil: [Int: Instant] = [:]

  init(interval: Duration, report: @escaping @Sendable (ServerNotice) -> Void) {
    self.interval = interval
    self.report = report
  }

  mutating func post(_ notice: ServerNotice, now: Instant) {
    if let until = quietUntil[notice.kind], now < until { return }
    quietUntil[notice.kind] = now.advanced(by: interval)
    report(notice)
  }
}
