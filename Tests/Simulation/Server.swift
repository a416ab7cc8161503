/// The upstream's own state: which tokens it accepts. It rotates at each refresh, and a token that
/// it has replaced is refused.
package struct Server: Sendable {
  private var access: [String: String] = [:]
  private var refresh: [String: String] = [:]
  private var rotations: [String: Int] = [:]

  package init() {}

  /// An account's first pair, `A.a0` and `A.r0`.
  package mutating func admit(_ account: String, isStale: Bool) {
    if !isStale { access["\(account).a0"] = account }
    refresh["\(account).r0"] = account
    rotations[account] = 0
  }

  /// Nil: `invalid_grant`.
  package mutating func exchange(_ token: String) -> (access: String, refresh: String)? {
    guard let account = refresh.removeValue(forKey: token) else { return nil }
    let number = (rotations[account] ?? 0) + 1
    rotations[account] = number
    access = access.filter { $0.value != account }
    access["\(account).a\(number)"] = account
    refresh["\(account).r\(number)"] = account
    return ("\(account).a\(number)", "\(account).r\(number)")
  }

  /// Ends whatever was granted together with this token (RFC 7009, section 2.1).
  package mutating func revoke(_ token: String) {
    guard let account = refresh[token] ?? access[token] else { return }
    access = access.filter { $0.value != account }
    refresh = refresh.filter { $0.value != account }
  }

  /// Whether any token of the account is still good.
  func isAlive(_ account: String) -> Bool { refresh.values.contains(account) }

  /// Nil: 401.
  package func account(of token: String) -> String? { access[token] }
}
