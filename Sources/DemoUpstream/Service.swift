import JSON

/// What the upstream knows and does: tips, ratings, and the account's tokens. A value without I/O;
/// the server asks it for one answer at a time.
struct Service: Sendable {
  let options: DemoOptions
  var account = Account()
  var authorizations = Authorizations()
  var ratings = RatingBook()
  var exchanges: [TokenExchange] = []
  /// What tests have added to the clock, so that lifetimes pass without waiting.
  var skew: Duration = .zero

  init(_ options: DemoOptions) {
    self.options = options
    _ = account.issuePair(lifetime: options.accessLifetime, now: now)
    if options.startsExpired { account.expireAccessTokens(now: now) }
  }

  var now: ContinuousClock.Instant { ContinuousClock.now.advanced(by: skew) }

  mutating func answer(_ request: Request) -> Answer {
    guard let endpoint = Endpoint(path: request.path) else { return .failure(404, "not_found") }
    guard request.method == endpoint.method || endpoint == .device else {
      return .notAllowed(endpoint.method.text)
    }
    switch endpoint {
    case .today: return refusal(request) ?? tipOfTheDay(request)
    case .tip(let id): return refusal(request) ?? tip(id, request)
    case .rating(let id):
      if let refusal = refusal(request) { return refusal }
      return rate(id, request)
    case .simpleRefresh: return simpleRefresh(request)
    case .token: return tokenGrant(request)
    case .revocation: return revocation(request)
    case .metadata: return metadata(request)
    case .deviceAuthorization: return deviceAuthorization(request)
    case .device:
      switch request.method {
      case .get: return devicePage(request)
      case .post: return decideDevice(request)
      case .other: return .notAllowed("GET, POST")
      }
    case .authorize: return authorize(request)
    }
  }

  /// Nil where the request's access token is good; else the refusal (RFC 6750 section 3).
  private func refusal(_ request: Request) -> Answer? {
    guard let token = request.bearer else {
      return .failure(401, "unauthorized", [("WWW-Authenticate", "Bearer realm=\"brewlog\"")])
    }
    if account.accepts(access: token, now: now) { return nil }
    let reason = account.knows(access: token) ? "the token has expired" : "the token is not known"
    return .failure(
      401, "invalid_token",
      [
        (
          "WWW-Authenticate",
          "Bearer realm=\"brewlog\", error=\"invalid_token\", error_description=\"\(reason)\""
        )
      ])
  }
}

/// What can be asked for, by its path.
private enum Endpoint: Equatable {
  case today
  case tip(String)
  case rating(String)
  case simpleRefresh
  case token
  case revocation
  case metadata
  case deviceAuthorization
  case device
  case authorize

  init?(path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      .map { Form.percentDecode($0) }
    switch (parts.count, parts.first, parts.last) {
    case (1, "token", _): self = .token
    case (1, "revoke", _): self = .revocation
    case (1, "device_authorization", _): self = .deviceAuthorization
    case (1, "device", _): self = .device
    case (1, "authorize", _): self = .authorize
    case (2, ".well-known", "oauth-authorization-server"),
      (2, ".well-known", "openid-configuration"):
      self = .metadata
    case (2, "auth", "refresh"): self = .simpleRefresh
    case (2, "tips", "today"): self = .today
    case (2, "tips", let id?): self = .tip(id)
    case (3, "tips", "rating"): self = .rating(parts[1])
    default: return nil
    }
  }

  var method: Method {
    switch self {
    case .today, .tip, .metadata, .device, .authorize: .get
    case .rating, .simpleRefresh, .token, .revocation, .deviceAuthorization: .post
    }
  }
}

extension Answer {
  static func json(
    _ value: JSONValue, status: Int = 200, _ fields: [(String, String)] = []
  ) -> Answer {
    let body = (try? JSONText.encode(value)) ?? []
    return Answer(status, [("Content-Type", "application/json")] + fields, body: body)
  }

  static func failure(_ status: Int, _ error: String, _ fields: [(String, String)] = []) -> Answer {
    .json(["error": .string(error)], status: status, fields)
  }

  static func notAllowed(_ method: String) -> Answer {
    .failure(405, "method_not_allowed", [("Allow", method)])
  }
}
