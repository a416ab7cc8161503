import JSON
import Testing

@testable import DemoUpstream

/// Signing in at the demo upstream: device codes, authorization codes, metadata.
@Suite(.timeLimit(.minutes(1)))
struct AuthorizationTests {
  private static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

  private func form(_ target: String, _ fields: [String: String]) -> Request {
    let body = fields.sorted { $0.key < $1.key }
      .map { $0.key + "=" + Form.encode($0.value) }.joined(separator: "&")
    return Request(
      method: .post, target: target,
      headers: ["content-type": "application/x-www-form-urlencoded", "host": "127.0.0.1:1"],
      body: Array(body.utf8))
  }

  private func page(_ target: String) -> Request {
    Request(method: .get, target: target, headers: ["host": "127.0.0.1:1"])
  }

  private func json(_ answer: Answer) throws -> JSONValue {
    try JSONText.decode(JSONValue.self, from: answer.body)
  }

  private func error(_ answer: Answer) -> String? { try? json(answer)["error"]?.string }

  // MARK: Device codes

  private struct Codes {
    var device: String
    var user: String
  }

  private func codes(_ service: inout Service) throws -> Codes {
    let answer = try json(
      service.answer(form("/device_authorization", ["client_id": "brew", "scope": "tips"])))
    #expect(answer["verification_uri"] == "http://127.0.0.1:1/device")
    #expect(answer["expires_in"] == 600)
    #expect(answer["interval"] == 5)
    return Codes(
      device: try #require(answer["device_code"]?.string),
      user: try #require(answer["user_code"]?.string))
  }

  private func poll(_ service: inout Service, _ codes: Codes) -> Answer {
    service.answer(
      form("/token", ["grant_type": Self.deviceGrant, "device_code": codes.device]))
  }

  @Test func `a device code waits for a person, then brings tokens once`() throws {
    var service = Service(DemoOptions())
    let codes = try codes(&service)
    let pending = poll(&service, codes)
    #expect(error(pending) == "authorization_pending")
    let shown = service.answer(page("/device?user_code=%22%3E" + codes.user))
    #expect(String(decoding: shown.body, as: UTF8.self).contains("&quot;&gt;" + codes.user))
    let typed = codes.user.lowercased().filter { $0 != "-" }
    let decided = service.answer(form("/device", ["user_code": typed, "decision": "approve"]))
    #expect(decided.status == 200)
    service.skew += .seconds(5)
    let granted = poll(&service, codes)
    #expect(granted.status == 200)
    #expect(try json(granted)["access_token"] == "dummy-access-1")
    let again = poll(&service, codes)
    #expect(error(again) == "invalid_grant")
  }

  @Test func `an early poll is told to slow down, and the interval grows`() throws {
    var service = Service(DemoOptions())
    let codes = try codes(&service)
    let first = poll(&service, codes)
    #expect(error(first) == "authorization_pending")
    service.skew += .seconds(4)
    let early = poll(&service, codes)
    #expect(error(early) == "slow_down")
    service.skew += .seconds(9)
    let tooEarly = poll(&service, codes)
    #expect(error(tooEarly) == "slow_down")
    service.skew += .seconds(15)
    let patient = poll(&service, codes)
    #expect(error(patient) == "authorization_pending")
  }

  @Test func `a code that was denied or has ended says so`() throws {
    var service = Service(DemoOptions())
    let denied = try codes(&service)
    let now = service.now
    let isTaken = service.authorizations.decide(denied.user, .denied, now: now)
    let isTakenBack = service.authorizations.decide(denied.user, .approved, now: now)
    #expect(isTaken && !isTakenBack)
    let refused = poll(&service, denied)
    #expect(error(refused) == "access_denied")
    let ended = try codes(&service)
    service.skew += .seconds(601)
    let later = service.now
    let isTakenLate = service.authorizations.decide(ended.user, .approved, now: later)
    #expect(!isTakenLate)
    let late = poll(&service, ended)
    #expect(error(late) == "expired_token")
    for wrong in [["user_code": "BREW-0", "decision": "approve"], ["user_code": denied.user]] {
      #expect(service.answer(form("/device", wrong)).status >= 400)
    }
    #expect(service.answer(page("/device_authorization")).status == 405)
  }

  // MARK: Authorization codes

  private static let redirect = "http://127.0.0.1:4000/callback"
  private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  private static let asked = [
    "response_type": "code", "client_id": "brew", "redirect_uri": redirect, "state": "a b&c",
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
  ]

  private func authorize(_ service: inout Service, _ fields: [String: String]) -> Answer {
    let query = fields.map { $0.key + "=" + Form.encode($0.value) }.joined(separator: "&")
    return service.answer(page("/authorize?" + query))
  }

  private func answered(_ answer: Answer) -> [String: String] {
    let location = answer.fields.first { $0.name == "Location" }?.value ?? ""
    #expect(location.hasPrefix(Self.redirect + "?"))
    return Form.fields(of: String(location.drop { $0 != "?" }.dropFirst()))
  }

  private func exchange(
    _ service: inout Service, _ code: String, verifier: String = verifier,
    redirect: String = redirect, client: String = "brew"
  ) -> Answer {
    service.answer(
      form(
        "/token",
        [
          "grant_type": "authorization_code", "code": code, "code_verifier": verifier,
          "redirect_uri": redirect, "client_id": client,
        ]))
  }

  @Test func `a browser is sent back with code, state and issuer`() throws {
    var service = Service(DemoOptions())
    let answer = answered(authorize(&service, Self.asked))
    #expect(answer["state"] == "a b&c")
    #expect(answer["iss"] == "http://127.0.0.1:1")
    let code = try #require(answer["code"])
    let first = exchange(&service, code)
    #expect(first.status == 200)
    let second = exchange(&service, code)
    #expect(error(second) == "invalid_grant")
  }

  @Test func `a code counts only with its verifier, its address and its client`() throws {
    var service = Service(DemoOptions())
    func code() throws -> String {
      try #require(answered(authorize(&service, Self.asked))["code"])
    }
    let forged = exchange(&service, try code(), verifier: "other")
    #expect(error(forged) == "invalid_grant")
    let elsewhere = exchange(&service, try code(), redirect: "http://127.0.0.1:1/")
    #expect(error(elsewhere) == "invalid_grant")
    let foreign = exchange(&service, try code(), client: "other")
    #expect(error(foreign) == "invalid_grant")
    let invented = exchange(&service, "dummy-code-0")
    #expect(error(invented) == "invalid_grant")
  }

  @Test(arguments: [
    ("code_challenge_method", "plain", "invalid_request"),
    ("code_challenge", "x", "invalid_request"),
    ("response_type", "token", "unsupported_response_type"),
  ])
  func `what is wrong is told by the redirect`(name: String, value: String, expected: String) {
    var service = Service(DemoOptions())
    var asked = Self.asked
    asked[name] = value
    let answer = authorize(&service, asked)
    #expect(answered(answer)["error"] == expected)
  }

  @Test func `nobody is sent to an address elsewhere`() {
    var options = DemoOptions()
    options.client = .init(id: "brew", secret: "dummy")
    options.deniesBrowsers = true
    var service = Service(options)
    var asked = Self.asked
    asked["redirect_uri"] = "https://evil.example/"
    let elsewhere = authorize(&service, asked)
    #expect(elsewhere.status == 400)
    asked = Self.asked
    asked["client_id"] = "other"
    let other = authorize(&service, asked)
    #expect(other.status == 400)
    let denied = authorize(&service, Self.asked)
    #expect(answered(denied)["error"] == "access_denied")
  }

  @Test func `the metadata name what is there`() throws {
    var service = Service(DemoOptions())
    for name in ["oauth-authorization-server", "openid-configuration"] {
      let document = try json(service.answer(page("/.well-known/" + name)))
      #expect(document["issuer"] == "http://127.0.0.1:1")
      #expect(
        document["device_authorization_endpoint"] == "http://127.0.0.1:1/device_authorization")
      #expect(document["revocation_endpoint"] == "http://127.0.0.1:1/revoke")
    }
  }

  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func `the hash is FIPS 180-4's`(text: String, expected: String) {
    let hash = SHA256.hash(Array(text.utf8))
    let hexadecimal = hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(hexadecimal == expected)
  }
}
