import DemoUpstream
import Execution
import Platform
import Requests
import Secrets
import TestSupport
import Testing

@testable import Upstream

@Suite(.timeLimit(.minutes(1)))
struct AuthorizationCodeGrantTests {
  private static let redirectURI = "http://127.0.0.1:4000/callback"

  /// Bytes that are known: state and verifier are made of them.
  private static let entropy = Entropy { count in (0..<count).map { UInt8($0) } }
  private static let state = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

  @Test func `the challenge is the one of RFC 7636's own example`() throws {
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    let hash = Array(verifier.utf8).withUnsafeBytes { SHA256.hash($0) }
    #expect(
      String(decoding: Base64.encodeForURL(hash), as: UTF8.self)
        == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test func `a browser's answer is exchanged for tokens`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(
      .post, "/token", .json(#"{"access_token":"dummy-access-1","token_type":"Bearer"}"#))
    let grant = AuthorizationCodeGrant(grant: fixture.grant(), entropy: Self.entropy)
    let attempt = try await grant.begin(redirectURI: Self.redirectURI, deadline: fixture.later)
    #expect(attempt.authorizeURI.hasPrefix(fixture.upstream.baseURL + "/authorize?tenant=1&"))
    let asked = query(attempt.authorizeURI)
    #expect(asked["response_type"] == "code")
    #expect(asked["client_id"] == "brewlog")
    #expect(asked["redirect_uri"] == "http%3A%2F%2F127.0.0.1%3A4000%2Fcallback")
    #expect(asked["state"] == Self.state)
    #expect(asked["code_challenge_method"] == "S256")
    #expect(asked["code_challenge"]?.utf8.count == 43)
    #expect(asked["scope"] == "tips")
    let code = try grant.code(
      from: "\(Self.redirectURI)?code=dummy%2Bcode&state=\(Self.state)#frag", for: attempt)
    let granted = try await grant.exchange(code, for: attempt, deadline: fixture.later)
    #expect(PlainTokens(granted).access == "dummy-access-1")
    let entry = try #require(fixture.upstream.log.first)
    #expect(
      entry.fields == [
        "grant_type": "authorization_code", "code": "secret", "code_verifier": "secret",
        "redirect_uri": Self.redirectURI, "client_id": "brewlog",
        "resource": "https://api.example/",
      ])
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [
    ("\(redirectURI)?code=a&state=wrong", GrantFailure.Kind.malformed),
    ("\(redirectURI)?code=a", .malformed), ("\(redirectURI)?state=\(state)", .malformed),
    ("\(redirectURI)?code=&state=\(state)", .malformed),
    ("\(redirectURI)?code=a&code=b&state=\(state)", .malformed),
    ("\(redirectURI)?code=%zz&state=\(state)", .malformed),
    ("http://127.0.0.1:4001/callback?code=a&state=\(state)", .malformed),
    ("\(redirectURI)/x?code=a&state=\(state)", .malformed), ("", .malformed),
    ("\(redirectURI)?error=access_denied&state=\(state)", .denied),
    ("\(redirectURI)?error=access_denied", .malformed),
    ("\(redirectURI)?error=invalid_scope&state=\(state)", .misconfigured),
    ("\(redirectURI)?error=%1b%5b31m&state=\(state)", .misconfigured),
    ("\(redirectURI)?error=temporarily_unavailable&state=\(state)", .unavailable),
  ])
  func `an address that is no answer to this attempt is refused`(
    address: String, kind: GrantFailure.Kind
  ) async throws {
    let fixture = try UpstreamFixture()
    let grant = AuthorizationCodeGrant(grant: fixture.grant(), entropy: Self.entropy)
    let attempt = try await grant.begin(redirectURI: Self.redirectURI, deadline: fixture.later)
    do throws(GrantFailure) {
      _ = try grant.code(from: address, for: attempt)
      Issue.record("taken")
    } catch {
      #expect(error.kind == kind)
      #expect(!error.reason.contains("\u{1B}"))
    }
    #expect(await fixture.close() == 0)
  }

  @Test(
    arguments: [
      (nil, false, true), (nil, true, false), ("right", true, true), ("wrong", false, false),
      ("wrong", true, false),
    ] as [(String?, Bool, Bool)])
  func `the answer must come from the issuer that was asked`(
    named: String?, promised: Bool, taken: Bool
  ) async throws {
    let fixture = try UpstreamFixture()
    let base = fixture.upstream.baseURL
    fixture.upstream.always(
      .get, "/.well-known/oauth-authorization-server",
      .json(
        """
        {"issuer":"\(base)","token_endpoint":"\(base)/token",
         "authorization_endpoint":"\(base)/authorize",
         "authorization_response_iss_parameter_supported":\(promised)}
        """))
    let grant = AuthorizationCodeGrant(
      grant: TokenGrant(
        transport: fixture.transport, ground: fixture.loop,
        discovery: Discovery(
          transport: fixture.transport, ground: fixture.loop,
          configured: OAuthEndpoints(issuer: base)), client: OAuthClient(id: "brewlog")),
      entropy: Self.entropy)
    let attempt = try await grant.begin(redirectURI: Self.redirectURI, deadline: fixture.later)
    var address = "\(Self.redirectURI)?code=a&state=\(Self.state)"
    if let named { address += "&iss=" + (named == "right" ? base : "https://mixed-in.example") }
    let code = try? grant.code(from: address, for: attempt)
    #expect((code != nil) == taken)
    #expect(await fixture.close() == 0)
  }

  // MARK: The loopback redirect

  @Test func `the browser's way back is taken once, and nothing else is`() async throws {
    let fixture = try UpstreamFixture()
    let redirect = try LoopbackRedirect(loop: fixture.loop)
    let uri = redirect.redirectURI
    let answer = Task {
      await redirect.wait(until: fixture.later) { $0.hasSuffix("state=right") }
    }
    func get(_ url: String) async -> Result<HTTPResponse, TransportError> {
      await fixture.send(HTTPRequest(method: .get, url: url))
    }
    let origin = try RequestTarget(uri).origin
    #expect(await get(origin + "/favicon.ico").status == 404)
    #expect(await get(origin + "/callback").status == 404)
    #expect(await get("\(uri)?code=a&state=wrong").status == 400)
    #expect(
      await get(
        try RequestTarget(uri).url.split(separator: "127.0.0.1").joined(separator: "localhost")
          + "?state=right"
      ).status == 404)
    #expect(
      await fixture.send(HTTPRequest(method: .post, url: uri + "?state=right", body: [])).status
        == 404)
    let page = await get("\(uri)?code=a&state=right")
    #expect(page.status == 200)
    #expect(await answer.value == "\(uri)?code=a&state=right")
    #expect(await get("\(uri)?code=a&state=right").kind == .unreachable)
    #expect(await fixture.close() == 0)
  }

  @Test func `the wait ends with its deadline, its task, and close`() async throws {
    let fixture = try UpstreamFixture()
    let late = try LoopbackRedirect(loop: fixture.loop)
    #expect(await late.wait(until: fixture.loop.now) { _ in true } == nil)
    let cancelled = try LoopbackRedirect(loop: fixture.loop)
    let task = Task { await cancelled.wait(until: fixture.later) { _ in true } }
    task.cancel()
    #expect(await task.value == nil)
    let closed = try LoopbackRedirect(loop: fixture.loop)
    await closed.close()
    #expect(await closed.wait(until: fixture.later) { _ in true } == nil)
    #expect(throws: SystemError.self) {
      let one = try LoopbackRedirect(loop: fixture.loop)
      let port = UInt16(try RequestTarget(one.redirectURI).port)
      _ = try LoopbackRedirect(loop: fixture.loop, port: port)
      withExtendedLifetime(one) {}
    }
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [
    ("GET /callback?x HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/callback?x", "a"),
    ("GET / HTTP/1.1\r\nA: b\r\nHOST:\t a:1 \r\n\r\n", "GET", "/", "a:1"),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET", "/", ""),
    ("GET / HTTP/1.1\r\n\r\nHost: a\r\n\r\n", "GET", "/", ""),
    ("nonsense\r\n\r\n", "", "", ""), ("GET  / HTTP/1.1\r\n\r\n", "", "", ""),
  ])
  func `a request's head is read as far as it matters`(
    text: String, method: String, target: String, host: String
  ) {
    let request = RedirectRequest(Array(text.utf8))
    #expect(request?.method == method)
    #expect(request?.target == target)
    #expect(request?.host == host)
    #expect(RedirectRequest(Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8)) == nil)
  }

  // MARK: Revocation

  @Test func `a token is revoked by its own endpoint`() async throws {
    let fixture = try UpstreamFixture()
    let revocation = RevocationGrant(grant: fixture.grant())
    let outcome = await revocation.revoke(
      try UpstreamFixture.secret("dummy-refresh-0"), hint: .refreshToken, deadline: fixture.later)
    #expect(outcome == .done)
    #expect(!fixture.upstream.isGood(refreshToken: "dummy-refresh-0"))
    #expect(fixture.upstream.log.first?.fields["token_type_hint"] == "refresh_token")
    let none = RevocationGrant(grant: fixture.grant { $0.revocation = nil })
    let unsupported = await none.revoke(
      try UpstreamFixture.secret("dummy-refresh-0"), hint: .accessToken, deadline: fixture.later)
    guard case .unsupported = unsupported else {
      Issue.record("\(unsupported)")
      return
    }
    fixture.upstream.close()
    let away = await revocation.revoke(
      try UpstreamFixture.secret("dummy-refresh-0"), hint: .refreshToken, deadline: fixture.later)
    guard case .unavailable = away else {
      Issue.record("\(away)")
      return
    }
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [
    (200, "", "done"), (204, "", "done"),
    (400, #"{"error":"unsupported_token_type"}"#, "unsupported"),
    (404, "", "unsupported"), (405, "", "unsupported"), (501, "", "unsupported"),
    (400, #"{"error":"invalid_request"}"#, "refused"),
    (401, #"{"error":"invalid_client"}"#, "refused"),
    (403, "", "refused"), (302, "", "refused"), (429, "", "unavailable"), (500, "", "unavailable"),
    (503, "", "unavailable"),
  ])
  func `a revocation's answer says whether to try again`(
    status: Int, body: String, expected: String
  ) {
    let response = HTTPResponse(
      status: status, fields: [HTTPField("Retry-After", "7")], body: Array(body.utf8))
    let outcome = RevocationGrant.outcome(of: response, now: WallTime(milliseconds: 0))
    #expect("\(outcome)".hasPrefix(expected))
    if case .unavailable(_, let wait) = outcome { #expect(wait == .seconds(7)) }
  }
}
