package import Execution
import Requests
package import Secrets

/// Token revocation, RFC 7009: what is left to do with a token whose session has ended. It is the
/// only request that may carry a token of an old generation (I2).
package struct RevocationGrant: Sendable {
  package enum Hint: String, Sendable {
    case refreshToken = "refresh_token"
    case accessToken = "access_token"
  }

  package enum Outcome: Equatable, Sendable {
    /// The token is of no use any more, or never was.
    case done
    /// There is no revocation here, or not for this kind of token.
    case unsupported(reason: String)
    /// Worth another try, not before the wait where one is given.
    case unavailable(reason: String, retryAfter: Duration?)
    /// Trying again changes nothing.
    case refused(reason: String)
  }

  private let grant: TokenGrant

  package init(grant: TokenGrant) {
    self.grant = grant
  }

  package func revoke(
    _ token: consuming Secret, hint: Hint, deadline: Instant
  ) async -> Outcome {
    let url: String
    do throws(GrantFailure) {
      let endpoints = try await grant.discovery.endpoints(deadline: deadline)
      guard let revocation = endpoints.revocation else {
        return .unsupported(reason: "no revocation endpoint is known")
      }
      url = revocation
    } catch {
      return error.kind == .misconfigured
        ? .refused(reason: error.reason)
        : .unavailable(reason: error.reason, retryAfter: nil)
    }
    var form = grant.request.form(grantType: nil, values: token.count)
    form.append("token", token)
    form.append("token_type_hint", hint.rawValue)
    do throws(TransportError) {
      let response = try await grant.request.post(form, to: url, deadline: deadline)
      return RevocationGrant.outcome(of: response, now: grant.ground.wallTime)
    } catch {
      switch error.kind {
      // Revoking twice does no harm, so a lost answer is simply another try.
      case .unreachable, .lost, .cancelled, .malformed, .forbidden:
        return .unavailable(reason: error.reason, retryAfter: nil)
      case .invalidURL: return .refused(reason: error.reason)
      }
    }
  }

  /// Section 2.2: unknown tokens are answered 200 as well.
  static func outcome(of response: HTTPResponse, now: WallTime) -> Outcome {
    if (200..<300).contains(response.status) { return .done }
    let failure = GrantFailure(response, from: "revocation endpoint")
    if failure.upstreamError == "unsupported_token_type" || response.status == 404
      || response.status == 405 || response.status == 501
    {
      return .unsupported(reason: failure.reason)
    }
    return failure.kind == .unavailable
      ? .unavailable(
        reason: failure.reason, retryAfter: RetryAfter.parse(response, now: now))
      : .refused(reason: failure.reason)
  }
}
