import Execution
import Platform
import Secrets
import Session
import Upstream

/// How this installation can sign in, as the present configuration has it; another after a reload.
final class LoginGrants: Sendable {
  struct Means: Sendable {
    /// Nil: the dialect has no sign-in of its own.
    var grant: TokenGrant?
    var discovery: Discovery?
    var redirectPort: UInt16
    /// Settings that a sign-in needs and that are not there.
    var missing: [String]
  }

  private let means: Locked<Means>
  private let endpoint: ReplaceableEndpoint

  init(_ means: Means, endpoint: ReplaceableEndpoint) {
    self.means = Locked(means)
    self.endpoint = endpoint
  }

  var present: Means { means.withLock { $0 } }

  func use(_ new: Means) {
    means.withLock { $0 = new }
  }
}

/// Revokes by the present configuration's grant.
extension LoginGrants: TokenRevoker {
  var binding: UpstreamBinding { endpoint.binding }

  func revoke(
    _ token: consuming Secret, isRefreshToken: Bool, deadline: Instant
  ) async -> RevocationResult {
    guard let grant = present.grant else {
      return .refused(reason: "the configured upstream has no revocation")
    }
    let outcome = await RevocationGrant(grant: grant).revoke(
      token, hint: isRefreshToken ? .refreshToken : .accessToken, deadline: deadline)
    switch outcome {
    case .done: return .done
    case .unsupported(let reason), .refused(let reason): return .refused(reason: reason)
    case .unavailable(let reason, let retryAfter):
      return .unavailable(reason: reason, retryAfter: retryAfter)
    }
  }
}
