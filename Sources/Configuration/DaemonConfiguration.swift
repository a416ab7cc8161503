/// All that can be configured, checked and complete. Where a key was not set its default stands
/// here; `settings` remembers which.
package struct DaemonConfiguration: Hashable, Sendable {
  package enum Dialect: String, CaseIterable, Hashable, Sendable {
    case simple
    case oauth2
  }

  package enum ClientAuthentication: String, CaseIterable, Hashable, Sendable {
    case basic
    case post
    case none
  }

  package enum OnMove: String, CaseIterable, Hashable, Sendable {
    case ask
    case `continue`
  }

  package enum LogLevel: String, CaseIterable, Hashable, Sendable {
    case error
    case warning
    case notice
    case info
    case debug
  }

  /// `[Upstream]`: where tips come from.
  package struct Upstream: Hashable, Sendable {
    /// Without a slash at its end.
    package var baseURL: String
    package var todayPath: String
    package var itemPath: String
    package var ratingPath: String
    package var connectTimeout: Duration
    package var requestTimeout: Duration
    package var maxBodyBytes: Int
    /// Nil: what the environment says. It may hold a password; it is for the transport alone.
    package var proxy: String?
    package var caFile: String?
    package var allowCleartext: Bool
    package var fields: Fields
  }

  /// Where a tip's fields stand in an answer: JSON pointers (RFC 6901).
  package struct Fields: Hashable, Sendable {
    package var id: String
    package var title: String
    package var body: String
    package var date: String
    package var tags: String
    package var url: String
  }

  /// `[Auth]`: how one signs in there.
  package struct Auth: Hashable, Sendable {
    /// Chosen by the other keys where it is not set.
    package var dialect: Dialect
    package var issuer: String?
    package var tokenEndpoint: String?
    package var authorizationEndpoint: String?
    package var deviceAuthorizationEndpoint: String?
    package var revocationEndpoint: String?
    package var clientID: String?
    package var clientSecretFile: String?
    /// Nil: `basic` with a secret, else `none`. Only the daemon knows of a secret among its
    /// credentials.
    package var clientAuthentication: ClientAuthentication?
    package var scope: String?
    package var resource: String?
    /// 0: any.
    package var redirectPort: Int
  }

  /// `[Refresh]`: when tokens are replaced.
  package struct Refresh: Hashable, Sendable {
    package var margin: Duration
    /// Of the margin, in percent.
    package var jitter: Int
    package var deadline: Duration
  }

  /// `[Retry]`: what is tried again.
  package struct Retry: Hashable, Sendable {
    package var maxRetries: Int
    package var backoff: Duration
    /// Of the backoff, in percent.
    package var jitter: Int
  }

  /// `[Cache]`: how long tips are good.
  package struct Cache: Hashable, Sendable {
    package var freshFor: Duration
    package var staleIfError: Duration
    package var keepTips: Int
    /// Nil: the host's.
    package var dayZone: String?
  }

  /// `[Store]`: where the session is kept.
  package struct Store: Hashable, Sendable {
    package var directory: String
    package var keyFile: String
    package var onMove: OnMove
  }

  /// `[Socket]`: where programs connect, and how much of it.
  package struct Socket: Hashable, Sendable {
    package var path: String
    package var mode: UInt32
    /// Nil: the daemon's own.
    package var group: String?
    package var maxConnections: Int
    package var maxConnectionsPerUser: Int
    package var maxMessageBytes: Int
    package var maxPendingCalls: Int
    package var maxUnreadBytes: Int
    /// Zero: never.
    package var idleTimeout: Duration
  }

  /// `[Access]`: who may. Users, and groups as `@group`; not yet looked up.
  package struct Access: Hashable, Sendable {
    package var read: [String]
    package var control: [String]
    package var requestsPerMinute: Int
  }

  /// `[Log]`.
  package struct Log: Hashable, Sendable {
    package var level: LogLevel
  }

  package var upstream: Upstream
  package var auth: Auth
  package var refresh: Refresh
  package var retry: Retry
  package var cache: Cache
  package var store: Store
  package var socket: Socket
  package var access: Access
  package var log: Log

  /// Every key with the value in force, in the table's order.
  package var settings: [EffectiveSetting]
}

/// One key with the value in force and where it was said. Values are shown as they are written,
/// but for a proxy's password.
package struct EffectiveSetting: Hashable, Sendable {
  package var section: String
  package var key: String
  package var value: String
  /// `FILE:LINE`, or `default`.
  package var origin: String
}
