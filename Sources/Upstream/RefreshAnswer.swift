package import Execution
import JSON
package import Requests
package import Session

/// What a token endpoint's answer means for the session: the refresh column of the table in
/// `upstream.md`. Texts name statuses and known codes, and nothing that the upstream wrote: a
/// description may quote the token.
package enum RefreshAnswer {
  package enum Dialect: Sendable, Hashable {
    case simple
    case oauth2
  }

  /// For every answer but a 200 with a well-formed token answer.
  package static func failure(
    _ response: HTTPResponse, dialect: Dialect, now: WallTime
  ) -> RefreshFailure {
    let (kind, reason) = meaning(of: response, dialect)
    return RefreshFailure(
      kind, reason: reason, httpStatus: response.status,
      retryAfter: kind == .transient ? wait(response, now) : nil)
  }

  /// Who is overloaded is believed for an hour at most; a limit on this client, as it is.
  private static func wait(_ response: HTTPResponse, _ now: WallTime) -> Duration? {
    guard let asked = RetryAfter.parse(response, now: now) else { return nil }
    return response.status == 429 ? asked : min(asked, .seconds(3_600))
  }

  /// A 200 whose body is no token answer.
  package static func malformed(_ error: TokenReply.Malformed) -> RefreshFailure {
    RefreshFailure(
      .transient, reason: "the token endpoint's answer has \(error)", httpStatus: 200)
  }

  /// No whole answer came.
  package static func failure(_ error: TransportError) -> RefreshFailure {
    switch error.kind {
    case .unreachable, .forbidden, .malformed: RefreshFailure(.transient, reason: error.reason)
    case .lost: RefreshFailure(.outcomeUnknown, reason: error.reason)
    case .invalidURL: RefreshFailure(.misconfigured, reason: error.reason)
    case .cancelled: RefreshFailure(.cancelled, reason: error.reason)
    }
  }

  private static func meaning(
    of response: HTTPResponse, _ dialect: Dialect
  ) -> (RefreshFailure.Kind, String) {
    let status = "the token endpoint answered \(response.status)"
    switch response.status {
    case 400, 401: return refusal(response, status, dialect)
    case 300..<400: return (.transient, status + redirection(response))
    case 403: return (.transient, "\(status): forbidden, maybe by a proxy")
    case 404, 410: return (.misconfigured, "\(status): there is none at that address")
    case 408, 429, 500...: return (.transient, status)
    case 402..<500: return (.misconfigured, "\(status): it does not take this request")
    default: return (.transient, "\(status) in place of 200")
    }
  }

  private static func redirection(_ response: HTTPResponse) -> String {
    guard let location = response.field("Location") else { return " without a location" }
    // The origin alone: a query may hold anything.
    guard let target = try? RequestTarget(location) else {
      return ", a redirect, which is not followed"
    }
    return ", a redirect to \(TextSanitizer.clean(target.origin)), which is not followed"
  }

  private static func refusal(
    _ response: HTTPResponse, _ status: String, _ dialect: Dialect
  ) -> (RefreshFailure.Kind, String) {
    let body = response.body
    let isEmpty = body.allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
    guard isEmpty || JSONMembers(body) != nil else {
      return (.transient, "\(status) with a body that is not JSON, maybe a proxy's")
    }
    switch OAuthErrorCode(body) {
    case .known(let code):
      switch code {
      case "invalid_grant": return (.refused, "\(status), invalid_grant")
      case "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
        return (.misconfigured, "\(status), \(code): the client's configuration is wrong")
      case "temporarily_unavailable", "server_error", "slow_down":
        return (.transient, "\(status), \(code)")
      default: return (unclear(dialect), "\(status), \(code)")
      }
    case .unknown: return (unclear(dialect), "\(status) with an unknown error code")
    case .none: return (unclear(dialect), "\(status) without an error code")
    }
  }

  /// A `simple` server says no more than this; an `oauth2` one gets the benefit of the doubt.
  private static func unclear(_ dialect: Dialect) -> RefreshFailure.Kind {
    dialect == .simple ? .refused : .refusedUnclearly
  }
}

/// The `error` member of an OAuth error answer (RFC 6749 section 5.2 and the extensions' own).
package enum OAuthErrorCode: Equatable, Sendable {
  /// One that may be shown.
  case known(String)
  case unknown
  case none

  private static let codes: Set<String> = [
    "access_denied", "authorization_pending", "expired_token", "insufficient_scope",
    "interaction_required", "invalid_client", "invalid_grant", "invalid_request",
    "invalid_scope", "invalid_target", "invalid_token", "login_required", "server_error",
    "slow_down", "temporarily_unavailable", "unauthorized_client", "unsupported_grant_type",
    "unsupported_response_type", "unsupported_token_type",
  ]

  init(_ body: [UInt8]) {
    guard case .string(let range)? = JSONMembers(body)?.values["error"],
      let code = JSONMembers.text(body, range), !code.isEmpty
    else {
      self = .none
      return
    }
    self.init(code: code)
  }

  init(code: String) {
    self = OAuthErrorCode.codes.contains(code) ? .known(code) : .unknown
  }
}
