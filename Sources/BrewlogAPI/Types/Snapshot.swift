/// What there is: no session, one, or one that nothing is sent with until a person has looked.
package enum SessionState: OpenName {
  case signedOut, signedIn, suspended
  case unknown(String)

  package static let known: [SessionState] = [.signedOut, .signedIn, .suspended]

  package var name: String {
    switch self {
    case .signedOut: "signedOut"
    case .signedIn: "signedIn"
    case .suspended: "suspended"
    case .unknown(let name): name
    }
  }
}

/// What the coordinator does with the session just now.
package enum Activity: OpenName {
  case idle, refreshing, backingOff
  case unknown(String)

  package static let known: [Activity] = [.idle, .refreshing, .backingOff]

  package var name: String {
    switch self {
    case .idle: "idle"
    case .refreshing: "refreshing"
    case .backingOff: "backingOff"
    case .unknown(let name): name
    }
  }
}

/// The session at one moment, in memory or on disk. It never holds a token: tokens are shown as
/// fingerprints, keyed per installation (I10). Times are RFC 3339 text, see ``Timestamps``.
package struct Snapshot: Codable, Hashable, Sendable {
  package var state: SessionState
  package var activity: Activity
  /// Moves at sign-in, import, logout and the end of a session; never goes back (I2).
  package var generation: Int
  /// False while credentials newer than the disk's could not be stored.
  package var durable: Bool
  /// Why there is no session, or why it is suspended.
  package var reason: String?
  package var upstream: String?
  package var account: String?
  /// False where the account is only what an import said.
  package var accountVerified: Bool
  package var signedInAt: String?
  package var accessTokenFingerprint: String?
  package var accessTokenExpiresAt: String?
  package var refreshTokenFingerprint: String?
  package var refreshTokenExpiresAt: String?
  package var scope: String?
  /// How often the pair has been replaced since sign-in.
  package var rotations: Int
  package var lastRefreshAt: String?
  package var lastRefreshError: String?
  package var nextRefreshAt: String?
  /// The daemon's best forecast of when a person must sign in again.
  package var loginNeededBy: String?
  /// What that forecast goes by, in words.
  package var loginNeededBasis: String?

  package init(
    state: SessionState, activity: Activity, generation: Int, durable: Bool, reason: String? = nil,
    upstream: String? = nil, account: String? = nil, accountVerified: Bool,
    signedInAt: String? = nil, accessTokenFingerprint: String? = nil,
    accessTokenExpiresAt: String? = nil, refreshTokenFingerprint: String? = nil,
    refreshTokenExpiresAt: String? = nil, scope: String? = nil, rotations: Int,
    lastRefreshAt: String? = nil, lastRefreshError: String? = nil, nextRefreshAt: String? = nil,
    loginNeededBy: String? = nil, loginNeededBasis: String? = nil
  ) {
    self.state = state
    self.activity = activity
    self.generation = generation
    self.durable = durable
    self.reason = reason
    self.upstream = upstream
    self.account = account
    self.accountVerified = accountVerified
    self.signedInAt = signedInAt
    self.accessTokenFingerprint = accessTokenFingerprint
    self.accessTokenExpiresAt = accessTokenExpiresAt
    self.refreshTokenFingerprint = refreshTokenFingerprint
    self.refreshTokenExpiresAt = refreshTokenExpiresAt
    self.scope = scope
    self.rotations = rotations
    self.lastRefreshAt = lastRefreshAt
    self.lastRefreshError = lastRefreshError
    self.nextRefreshAt = nextRefreshAt
    self.loginNeededBy = loginNeededBy
    self.loginNeededBasis = loginNeededBasis
  }
}
