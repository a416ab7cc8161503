import FoundationEssentials
import JSON

/// How a session begins: device codes, authorization codes, and where all of that is.
extension Service {
  /// RFC 8414 and OpenID Connect Discovery 1.0; one document serves both.
  func metadata(_ request: Request) -> Answer {
    let base = issuer(request)
    return .json([
      "issuer": .string(base), "token_endpoint": .string(base + "/token"),
      "authorization_endpoint": .string(base + "/authorize"),
      "device_authorization_endpoint": .string(base + "/device_authorization"),
      "revocation_endpoint": .string(base + "/revoke"),
      "response_types_supported": ["code"],
      "grant_types_supported": [
        "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
      ],
      "code_challenge_methods_supported": ["S256"], "scopes_supported": ["tips"],
      "authorization_response_iss_parameter_supported": true,
    ])
  }

  /// The address by which it was asked: there is one name for a server, and it does not know it.
  private func issuer(_ request: Request) -> String {
    "http://" + (request.headers["host"] ?? "127.0.0.1")
  }

  // MARK: RFC 8628

  mutating func deviceAuthorization(_ request: Request) -> Answer {
    guard request.isForm else { return .failure(400, "invalid_request") }
    let fields = request.fields
    guard isClient(request, fields) else { return .failure(401, "invalid_client") }
    guard fields["client_id"] != nil || request.basic != nil else {
      return .failure(400, "invalid_request")
    }
    let device = authorizations.addDevice(
      lifetime: options.deviceLifetime, interval: options.deviceInterval, now: now)
    let page = issuer(request) + "/device"
    return .json(
      [
        "device_code": .string(device.deviceCode), "user_code": .string(device.userCode),
        "verification_uri": .string(page),
        "verification_uri_complete": .string(page + "?user_code=" + device.userCode),
        "expires_in": .integer(options.deviceLifetime.components.seconds),
        "interval": .integer(options.deviceInterval.components.seconds),
      ], [("Cache-Control", "no-store")])
  }

  /// The page where a person enters a code; it decides nothing.
  func devicePage(_ request: Request) -> Answer {
    let code = Form.fields(of: request.query)["user_code"] ?? ""
    return .page(
      "Sign in a device",
      """
      <form method="post" action="/device">
      <label>Code <input name="user_code" value="\(Answer.escaped(code))"></label>
      <button name="decision" value="approve">Approve</button>
      <button name="decision" value="deny">Deny</button></form>
      """)
  }

  mutating func decideDevice(_ request: Request) -> Answer {
    let fields = request.fields
    let decision: Authorizations.Decision
    switch fields["decision"] {
    case "approve": decision = .approved
    case "deny": decision = .denied
    default: return .page("Approve or deny?", "", status: 400)
    }
    guard authorizations.decide(fields["user_code"] ?? "", decision, now: now) else {
      return .page("No such code", "It may have ended.", status: 404)
    }
    return .page(decision == .approved ? "Approved" : "Denied", "You can close this window.")
  }

  mutating func deviceGrant(_ fields: [String: String]) -> Answer {
    guard let code = fields["device_code"] else { return .failure(400, "invalid_request") }
    switch authorizations.poll(code, strict: options.slowsDown, now: now) {
    case .granted: return newPair()
    case .error(let error): return .failure(400, error)
    }
  }

  // MARK: RFC 6749 section 4.1, with RFC 7636 and RFC 9207

  /// The person is taken to have agreed: the browser is sent back at once. What is wrong with client
  /// or address is told to the person alone (section 4.1.2.1).
  mutating func authorize(_ request: Request) -> Answer {
    let query = Form.fields(of: request.query)
    guard let redirectURI = query["redirect_uri"], Self.isLoopback(redirectURI) else {
      return .page("Bad request", "The redirect_uri is not one of this client.", status: 400)
    }
    guard let clientID = query["client_id"],
      options.client == nil || options.client?.id == clientID
    else { return .page("Bad request", "The client is not known.", status: 400) }
    var parameters: [(String, String)]
    if query["response_type"] != "code" {
      parameters = [("error", "unsupported_response_type")]
    } else if let challenge = query["code_challenge"], query["code_challenge_method"] == "S256",
      challenge.utf8.count == 43
    {
      let code = authorizations.addCode(
        redirectURI: redirectURI, challenge: challenge, clientID: clientID)
      parameters = options.deniesBrowsers ? [("error", "access_denied")] : [("code", code)]
    } else {
      parameters = [("error", "invalid_request")]
    }
    if let state = query["state"] { parameters.append(("state", state)) }
    parameters.append(("iss", issuer(request)))
    let location =
      redirectURI + (redirectURI.contains("?") ? "&" : "?")
      + parameters.map { $0.0 + "=" + Form.encode($0.1) }.joined(separator: "&")
    return Answer(302, [("Location", location), ("Cache-Control", "no-store")])
  }

  mutating func codeGrant(_ request: Request, _ fields: [String: String]) -> Answer {
    guard let text = fields["code"], let verifier = fields["code_verifier"] else {
      return .failure(400, "invalid_request")
    }
    let clientID = request.basic?.id ?? fields["client_id"]
    guard let code = authorizations.takeCode(text), code.redirectURI == fields["redirect_uri"],
      code.clientID == clientID, Self.challenge(of: verifier) == code.challenge
    else { return .failure(400, "invalid_grant") }
    return newPair()
  }

  /// RFC 8252 section 7.3: any port, since a desktop program has none of its own.
  private static func isLoopback(_ uri: String) -> Bool {
    ["http://127.0.0.1:", "http://[::1]:", "http://localhost:"].contains { uri.hasPrefix($0) }
  }

  private static func challenge(of verifier: String) -> String {
    let encoded = Data(SHA256.hash(Array(verifier.utf8))).base64EncodedString()
    return String(
      encoded.compactMap { character -> Character? in
        switch character {
        case "+": "-"
        case "/": "_"
        case "=": nil
        default: character
        }
      })
  }

  private mutating func newPair() -> Answer {
    let pair = account.issuePair(lifetime: options.accessLifetime, now: now)
    var answer: [String: JSONValue] = [
      "access_token": .string(pair.access), "refresh_token": .string(pair.refresh),
      "token_type": "Bearer", "scope": "tips",
    ]
    answer["expires_in"] = options.accessLifetime.map { .integer($0.components.seconds) }
    return .json(.object(answer), [("Cache-Control", "no-store")])
  }
}

extension Answer {
  static func page(_ title: String, _ body: String, status: Int = 200) -> Answer {
    let text = """
      <!doctype html><meta charset="utf-8"><title>\(title)</title><h1>\(title)</h1>
      \(body)

      """
    return Answer(
      status,
      [
        ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
        ("Content-Security-Policy", "default-src 'none'; form-action 'self'"),
      ], body: Array(text.utf8))
  }

  static func escaped(_ text: String) -> String {
    text.map { character in
      switch character {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      default: String(character)
      }
    }.joined()
  }
}
