import JSON
import Requests

/// Why a sign-in brought no tokens.
package struct GrantFailure: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The person said no.
    case denied
    /// Nobody acted in time.
    case expired
    /// The client, an endpoint or the scope is wrong; trying again changes nothing.
    case misconfigured
    /// The authorization server could not be used now.
    case unavailable
    /// What came back does not belong to this attempt, or cannot be read.
    case malformed
    /// The attempt was given up.
    case cancelled
  }

  package var kind: Kind
  /// One sentence, sanitised, without a token or a code.
  package var reason: String
  /// The OAuth error code, where it is a known one.
  package var upstreamError: String?

  package init(_ kind: Kind, reason: String, upstreamError: String? = nil) {
    self.kind = kind
    self.reason = reason
    self.upstreamError = upstreamError
  }

  init(_ error: TransportError) {
    self.init(GrantFailure.kind(of: error.kind), reason: error.reason)
  }

  private static func kind(of kind: TransportError.Kind) -> Kind {
    switch kind {
    case .unreachable, .lost, .forbidden: .unavailable
    case .malformed: .malformed
    case .invalidURL: .misconfigured
    case .cancelled: .cancelled
    }
  }

  /// An answer other than 200 to the request of a grant. `what` names the endpoint.
  init(_ response: HTTPResponse, from what: String) {
    let status = "the \(what) answered \(response.status)"
    switch OAuthErrorCode(response.body) {
    case .known(let code): self.init(code: code, status: status)
    case .unknown: self.init(.misconfigured, reason: "\(status) with an unknown error code")
    case .none:
      switch response.status {
      case 300..<400: self.init(.misconfigured, reason: "\(status), a redirect: not followed")
      case 408, 429, 500...: self.init(.unavailable, reason: status)
      case 400..<500: self.init(.misconfigured, reason: status)
      default: self.init(.malformed, reason: "\(status) in place of 200")
      }
    }
  }

  private init(code: String, status: String) {
    let kind: Kind =
      switch code {
      case "access_denied": .denied
      // Of a code, not of a refresh token.
      case "expired_token", "invalid_grant": .expired
      case "temporarily_unavailable", "server_error", "slow_down", "authorization_pending":
        .unavailable
      default: .misconfigured
      }
    self.init(kind, reason: "\(status), \(code)", upstreamError: code)
  }

  init(_ error: TokenReply.Malformed) {
    self.init(.malformed, reason: "the token endpoint's answer has \(error)")
  }
}

extension GrantFailure {
  /// An `error` in the address that the browser was sent back to.
  init(redirectError code: String) {
    switch OAuthErrorCode(code: code) {
    case .known(let known): self.init(code: known, status: "the authorization server answered")
    case .unknown, .none:
      self.init(.misconfigured, reason: "the authorization server answered an unknown error code")
    }
  }
}
