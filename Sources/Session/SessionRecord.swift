package import Execution
package import Secrets

/// Where a session's tokens may go: the issuer or token endpoint, the client, and the origin of
/// the API. It is fixed at sign-in; a configuration that names another suspends the session (I11).
package struct UpstreamBinding: Hashable, Sendable {
  package var issuer: String
  package var clientID: String
  package var apiOrigin: String

  package init(issuer: String, clientID: String, apiOrigin: String) {
    self.issuer = issuer
    self.clientID = clientID
    self.apiOrigin = apiOrigin
  }
}

/// What is known of a session besides its tokens. All of it may be shown.
package struct SessionFacts: Hashable, Sendable {
  package var id: SessionID
  package var generation: Generation
  package var binding: UpstreamBinding
  package var account: String?
  /// Whether the upstream said the account, or only whoever imported it.
  package var accountVerified: Bool
  package var signedInAt: WallTime
  package var scope: String?
  /// How often the pair has been replaced since sign-in.
  package var rotations: Int
  package var lastRefreshAt: WallTime?
  /// When the present access token was received, and when it ends where that is known.
  package var accessTokenReceivedAt: WallTime
  package var accessTokenExpiresAt: WallTime?
  package var refreshTokenExpiresAt: WallTime?
  /// Whether a refresh has put that end off: then it is only where an unused token would end.
  package var refreshEndMoves = false

  package init(
    id: SessionID, generation: Generation, binding: UpstreamBinding, account: String?,
    accountVerified: Bool, signedInAt: WallTime, scope: String?, rotations: Int = 0,
    lastRefreshAt: WallTime? = nil, accessTokenReceivedAt: WallTime,
    accessTokenExpiresAt: WallTime?, refreshTokenExpiresAt: WallTime? = nil
  ) {
    self.id = id
    self.generation = generation
    self.binding = binding
    self.account = account
    self.accountVerified = accountVerified
    self.signedInAt = signedInAt
    self.scope = scope
    self.rotations = rotations
    self.lastRefreshAt = lastRefreshAt
    self.accessTokenReceivedAt = accessTokenReceivedAt
    self.accessTokenExpiresAt = accessTokenExpiresAt
    self.refreshTokenExpiresAt = refreshTokenExpiresAt
  }
}

extension SessionFacts {
  /// Takes over what a refresh said of the refresh token's end. `isReplaced`: there is a new token,
  /// whose end is not known where nothing was said.
  mutating func follow(refreshEnd end: WallTime?, isReplaced: Bool) {
    if let end {
      // An end that stands still is seen a little earlier or later with every answer.
      if let old = refreshTokenExpiresAt, old.duration(to: end) > .seconds(60) {
        refreshEndMoves = true
      }
      refreshTokenExpiresAt = end
    } else if isReplaced {
      refreshTokenExpiresAt = nil
    }
  }
}

/// The pair that a session lives on. Either may be absent, not both.
package struct TokenPair: ~Copyable, Sendable {
  package var access: Secret?
  package var refresh: Secret?

  package init(access: consuming Secret?, refresh: consuming Secret?) {
    self.access = access
    self.refresh = refresh
  }

  package borrowing func copy() throws(SecretError) -> TokenPair {
    var pair = TokenPair(access: nil, refresh: nil)
    switch access {
    case .some(let token): pair.access = try token.copy()
    case .none: break
    }
    switch refresh {
    case .some(let token): pair.refresh = try token.copy()
    case .none: break
    }
    return pair
  }
}

/// One session, whole: what the store writes in one transaction and a restart reads back.
package struct SessionRecord: ~Copyable, Sendable {
  package var facts: SessionFacts
  package var pair: TokenPair

  package init(facts: SessionFacts, pair: consuming TokenPair) {
    self.facts = facts
    self.pair = pair
  }
}
