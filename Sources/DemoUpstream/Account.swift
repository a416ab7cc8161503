/// The two tokens of one answer. They are dummies: numbered, guessable, good for nothing else.
package struct TokenPair: Sendable, Equatable {
  package var access: String
  package var refresh: String

  package init(access: String, refresh: String) {
    self.access = access
    self.refresh = refresh
  }
}

/// The one account's tokens. They are numbered from 0 and named after their number, so that a log
/// can say which one was presented without saying it.
struct Account: Sendable {
  typealias Instant = ContinuousClock.Instant

  static let accessPrefix = "dummy-access-"
  static let refreshPrefix = "dummy-refresh-"

  enum RefreshState: Sendable { case good, spent, revoked }

  struct Issued: Sendable, Equatable {
    var access: String
    var refresh: String?
  }

  private var nextAccess = 0
  private var nextRefresh = 0
  /// When each access token that still counts expires. Nil: never.
  private var expiries: [String: Instant?] = [:]
  private var refreshStates: [String: RefreshState] = [:]
  /// The refresh token of the sign-in that each one descends from.
  private var origins: [String: String] = [:]
  private(set) var newest = TokenPair(access: "", refresh: "")

  /// A new pair, as after a sign-in.
  mutating func issuePair(lifetime: Duration?, now: Instant) -> TokenPair {
    let access = issueAccess(lifetime, now)
    let refresh = issueRefresh(after: nil)
    newest = TokenPair(access: access, refresh: refresh)
    return newest
  }

  mutating func exchange(
    _ refresh: String, rotation: DemoOptions.Rotation, reuse: DemoOptions.Reuse,
    lifetime: Duration?, now: Instant
  ) -> Issued? {
    switch refreshStates[refresh] {
    case .good:
      let access = issueAccess(lifetime, now)
      newest.access = access
      guard rotation == .everyRefresh else { return Issued(access: access) }
      refreshStates[refresh] = .spent
      let replacement = issueRefresh(after: refresh)
      newest.refresh = replacement
      return Issued(access: access, refresh: replacement)
    case .spent:
      if reuse == .endsSession { revokeAll() }
      return nil
    case .revoked, nil:
      return nil
    }
  }

  /// A new access token alone, for a refresh with an empty body.
  mutating func issueAccessAlone(lifetime: Duration?, now: Instant) -> Issued {
    newest.access = issueAccess(lifetime, now)
    return Issued(access: newest.access)
  }

  func accepts(access: String, now: Instant) -> Bool {
    guard let expiry = expiries[access] else { return false }
    return expiry.map { now < $0 } ?? true
  }

  func knows(access: String) -> Bool { expiries[access] != nil }

  func state(ofRefresh token: String) -> RefreshState? { refreshStates[token] }

  mutating func expireAccessTokens(now: Instant) {
    for token in expiries.keys { expiries[token] = .some(now) }
  }

  /// RFC 7009: a revoked refresh token takes the account's access tokens with it.
  mutating func revoke(_ token: String) {
    if refreshStates[token] != nil {
      refreshStates[token] = .revoked
      expiries = [:]
    }
    expiries[token] = nil
  }

  mutating func revokeAll() {
    for token in refreshStates.keys { refreshStates[token] = .revoked }
    expiries = [:]
  }

  /// How the log calls a token: "access-3", "refresh-0", or "unknown".
  static func label(of token: String) -> String {
    for (prefix, kind) in [(accessPrefix, "access-"), (refreshPrefix, "refresh-")]
    where token.hasPrefix(prefix) {
      if let number = Int(token.dropFirst(prefix.count)) { return kind + String(number) }
    }
    return "unknown"
  }

  private mutating func issueAccess(_ lifetime: Duration?, _ now: Instant) -> String {
    defer { nextAccess += 1 }
    let token = Self.accessPrefix + String(nextAccess)
    expiries[token] = .some(lifetime.map { now.advanced(by: $0) })
    return token
  }

  func origin(ofRefresh token: String) -> String? { origins[token] }

  private mutating func issueRefresh(after parent: String?) -> String {
    defer { nextRefresh += 1 }
    let token = Self.refreshPrefix + String(nextRefresh)
    origins[token] = parent.map { origins[$0] ?? $0 } ?? token
    refreshStates[token] = .good
    return token
  }
}
