import Execution
package import Platform

/// What an operator should know of connections that were not served.
package enum ServerNotice: Sendable, Equatable, CustomStringConvertible {
  /// ``Limits/maxConnections``, or what the process may open, is reached.
  case connectionsExhausted(limit: Int)
  /// One user holds ``Limits/maxConnectionsPerUser``.
  case userExhausted(uid: UInt32, limit: Int)
  /// The system gives no more descriptors.
  case descriptorsExhausted(SystemError)
  /// One user has ``Limits/maxTasksPerUser`` calls under way.
  case tasksExhausted(uid: UInt32, limit: Int)
  /// One user's connections hold ``Limits/maxBufferedBytesPerUser``.
  case memoryExhausted(uid: UInt32, limit: Int)

  package var description: String {
    switch self {
    case .connectionsExhausted(let limit):
      "a connection was refused: \(limit) are open, which is the limit"
    case .userExhausted(let uid, let limit):
      "a connection was refused: uid \(uid) has \(limit) open, which is the limit for one user"
    case .descriptorsExhausted(let error): "a connection was refused: \(error)"
    case .tasksExhausted(let uid, let limit):
      "a connection was closed: uid \(uid) has \(limit) calls under way, which is the limit"
    case .memoryExhausted(let uid, let limit):
      "a connection was closed: uid \(uid) leaves more than \(limit) bytes unread or half sent"
    }
  }

  /// One user's notices do not hold back another's.
  fileprivate var kind: Kind {
    switch self {
    case .connectionsExhausted: Kind(number: 0)
    case .userExhausted(let uid, _): Kind(number: 1, uid: uid)
    case .descriptorsExhausted: Kind(number: 2)
    case .tasksExhausted(let uid, _): Kind(number: 3, uid: uid)
    case .memoryExhausted(let uid, _): Kind(number: 4, uid: uid)
    }
  }

  fileprivate struct Kind: Hashable {
    var number: Int
    var uid: UInt32?
  }
}

/// Lets through one notice of a kind in an interval: a flood of refused connections must not
/// become a flood of log lines.
struct NoticeThrottle {
  private let interval: Duration
  private let report: @Sendable (ServerNotice) -> Void
  private var quietUntil: [ServerNotice.Kind: Instant] = [:]

  init(interval: Duration, report: @escaping @Sendable (ServerNotice) -> Void) {
    self.interval = interval
    self.report = report
  }

  mutating func post(_ notice: ServerNotice, now: Instant) {
    if let until = quietUntil[notice.kind], now < until { return }
    if quietUntil.count > 256 { quietUntil = quietUntil.filter { $0.value > now } }
    quietUntil[notice.kind] = now.advanced(by: interval)
    report(notice)
  }
}
