import JSON

/// Signing in, both dialects.
extension Service {
  /// The smallest refresh: one token in, one or two out.
  mutating func simpleRefresh(_ request: Request) -> Answer {
    let issued: Account.Issued?
    if request.body.isEmpty {
      issued = bareRefresh(request)
    } else {
      guard let token = request.fields["refreshToken"] else {
        return .failure(400, "refreshToken is missing")
      }
      issued = exchange(token)
    }
    guard let issued else { return .failure(401, "the refresh token is not good") }
    var answer: [String: JSONValue] = ["token": .string(issued.access)]
    answer["refreshToken"] = issued.refresh.map { .string($0) }
    answer["expiresIn"] = options.accessLifetime.map { .integer($0.components.seconds) }
    return .json(.object(answer), [("Cache-Control", "no-store")])
  }

  /// The token endpoint's grants, with the errors of RFC 6749 section 5.2.
  mutating func tokenGrant(_ request: Request) -> Answer {
    guard request.isForm else { return .failure(400, "invalid_request") }
    let fields = request.fields
    guard isClient(request, fields) else {
      let challenge = [("WWW-Authenticate", "Basic realm=\"brewlog\"")]
      return .failure(401, "invalid_client", request.basic == nil ? [] : challenge)
    }
    guard let grant = fields["grant_type"] else { return .failure(400, "invalid_request") }
    switch grant {
    case "refresh_token": return refreshGrant(fields)
    case "authorization_code": return codeGrant(request, fields)
    case "urn:ietf:params:oauth:grant-type:device_code": return deviceGrant(fields)
    default: return .failure(400, "unsupported_grant_type")
    }
  }

  /// RFC 6749 section 6.
  private mutating func refreshGrant(_ fields: [String: String]) -> Answer {
    guard let token = fields["refresh_token"] else { return .failure(400, "invalid_request") }
    guard let issued = exchange(token) else { return .failure(400, "invalid_grant") }
    var answer: [String: JSONValue] = [
      "access_token": .string(issued.access), "token_type": "Bearer", "scope": "tips",
    ]
    answer["refresh_token"] = issued.refresh.map { .string($0) }
    answer["expires_in"] = options.accessLifetime.map { .integer($0.components.seconds) }
    return .json(.object(answer), [("Cache-Control", "no-store")])
  }

  /// RFC 7009: 200 for any token, known or not.
  mutating func revocation(_ request: Request) -> Answer {
    guard request.isForm else { return .failure(400, "invalid_request") }
    let fields = request.fields
    guard isClient(request, fields) else { return .failure(401, "invalid_client") }
    guard let token = fields["token"] else { return .failure(400, "invalid_request") }
    account.revoke(token)
    return Answer(200)
  }

  private mutating func exchange(_ token: String) -> Account.Issued? {
    let outcome: TokenExchange.Outcome =
      switch account.state(ofRefresh: token) {
      case .good: .granted
      case .spent: .spent
      case .revoked: .revoked
      case nil: .unknown
      }
    exchanges.append(
      TokenExchange(
        token: Account.label(of: token),
        origin: account.origin(ofRefresh: token).map(Account.label(of:)), outcome: outcome))
    return account.exchange(
      token, rotation: options.rotation, reuse: options.reuse, lifetime: options.accessLifetime,
      now: now)
  }

  private mutating func bareRefresh(_ request: Request) -> Account.Issued? {
    switch options.bareRefresh {
    case .nobody: return nil
    case .byAccessToken:
      guard let token = request.bearer, account.knows(access: token) else { return nil }
    case .anybody: break
    }
    return account.issueAccessAlone(lifetime: options.accessLifetime, now: now)
  }

  func isClient(_ request: Request, _ fields: [String: String]) -> Bool {
    guard let client = options.client else { return true }
    if let basic = request.basic { return basic == (client.id, client.secret) }
    return fields["client_id"] == client.id && fields["client_secret"] == client.secret
  }
}
