import DemoUpstream
import Execution
import Platform
import Requests
import Session
import TestSupport
import Testing

@testable import Upstream

@Suite(.timeLimit(.minutes(1)))
struct TokenEndpointTests {
  enum Refreshed: Equatable {
    case granted(PlainTokens)
    case failed(RefreshFailure)

    var kind: RefreshFailure.Kind? {
      if case .failed(let failure) = self { failure.kind } else { nil }
    }
    var tokens: PlainTokens? { if case .granted(let tokens) = self { tokens } else { nil } }
  }

  private func refresh(
    _ endpoint: any TokenEndpoint, _ token: String?, _ fixture: UpstreamFixture,
    within span: Duration = .seconds(30)
  ) async throws -> Refreshed {
    let secret = try UpstreamFixture.secret(token.map { Array($0.utf8) })
    do throws(RefreshFailure) {
      let granted = try await endpoint.refresh(
        with: secret, deadline: fixture.loop.now.advanced(by: span))
      return .granted(PlainTokens(granted))
    } catch {
      return .failed(error)
    }
  }

  private func simple(_ fixture: UpstreamFixture) throws -> SimpleTokenEndpoint {
    try SimpleTokenEndpoint(
      transport: fixture.transport, ground: fixture.loop, baseURL: fixture.upstream.baseURL)
  }

  private func oauth2(
    _ fixture: UpstreamFixture, _ client: OAuthClient = OAuthClient(id: "brewlog"),
    scope: String? = nil, resource: String? = nil
  ) throws -> OAuth2TokenEndpoint {
    try OAuth2TokenEndpoint(
      transport: fixture.transport, ground: fixture.loop, baseURL: fixture.upstream.baseURL,
      tokenEndpoint: fixture.upstream.baseURL + "/token", client: client, scope: scope,
      resource: resource)
  }

  @Test func `the simple dialect exchanges one token for two`() async throws {
    let fixture = try UpstreamFixture()
    let endpoint = try simple(fixture)
    let answer = try await refresh(endpoint, "dummy-refresh-0", fixture)
    #expect(answer.tokens?.access == "dummy-access-1")
    #expect(answer.tokens?.refresh == "dummy-refresh-1")
    #expect(answer.tokens?.lifetime == .seconds(3600))
    let entry = try #require(fixture.upstream.log.first)
    #expect(entry.path == "/auth/refresh" && entry.fields == ["refreshToken": "refresh-0"])
    #expect(entry.headers["content-type"] == "application/json")
    #expect(try await refresh(endpoint, "dummy-refresh-0", fixture).kind == .refused)
    #expect(endpoint.binding.apiOrigin == fixture.upstream.baseURL)
    #expect(endpoint.binding.issuer == fixture.upstream.baseURL + "/auth/refresh")
    #expect(await fixture.close() == 0)
  }

  @Test func `without a refresh token the simple dialect sends an empty body`() async throws {
    var options = DemoOptions()
    options.bareRefresh = .anybody
    let fixture = try UpstreamFixture(options)
    let answer = try await refresh(try simple(fixture), nil, fixture)
    #expect(answer.tokens?.access != nil)
    #expect(fixture.upstream.log.first?.bodyLength == 0)
    #expect(try await refresh(try oauth2(fixture), nil, fixture).kind == .refused)
    #expect(fixture.upstream.log.count == 1)
    #expect(await fixture.close() == 0)
  }

  @Test func `OAuth exchanges by a form`() async throws {
    let fixture = try UpstreamFixture()
    let endpoint = try oauth2(
      fixture, scope: "tips offline_access", resource: "https://api.example/?a=b&c=d")
    let answer = try await refresh(endpoint, "dummy-refresh-0", fixture)
    #expect(answer.tokens?.access == "dummy-access-1")
    #expect(answer.tokens?.refresh == "dummy-refresh-1")
    let entry = try #require(fixture.upstream.log.first)
    #expect(entry.path == "/token")
    #expect(
      entry.fields == [
        "grant_type": "refresh_token", "refresh_token": "refresh-0", "client_id": "brewlog",
        "scope": "tips offline_access", "resource": "https://api.example/?a=b&c=d",
      ])
    #expect(try await refresh(endpoint, "dummy-refresh-0", fixture).kind == .refused)
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [OAuthClient.Authentication.basic, .post, .none], ["secret", "a+b/c=&% ü:~"])
  func `a client proves itself, whatever is in its secret`(
    authentication: OAuthClient.Authentication, secret: String
  ) async throws {
    var options = DemoOptions()
    options.client = .init(id: "brew log:1", secret: secret)
    let fixture = try UpstreamFixture(options)
    let client = OAuthClient(
      id: "brew log:1", authentication: authentication, secret: try UpstreamFixture.secret(secret))
    let answer = try await refresh(try oauth2(fixture, client), "dummy-refresh-0", fixture)
    if authentication == .none {
      #expect(answer.kind == .misconfigured)
      #expect(fixture.upstream.isGood(refreshToken: "dummy-refresh-0"))
    } else {
      #expect(answer.tokens?.access == "dummy-access-1")
    }
    let entry = try #require(fixture.upstream.log.first)
    #expect((entry.fields["client_secret"] != nil) == (authentication == .post))
    #expect(await fixture.close() == 0)
  }

  @Test func `a token's characters arrive as they are`() async throws {
    let fixture = try UpstreamFixture()
    let odd = "dummy+refresh/0=&?%41 \"\\~*"
    fixture.upstream.always(.post, "/token", .json(#"{"error":"invalid_grant"}"#, status: 400))
    fixture.upstream.always(.post, "/auth/refresh", .json("{}", status: 400))
    var form = FormBody(capacity: odd.utf8.count)
    form.append("t", try UpstreamFixture.secret(odd))
    #expect(
      String(decoding: form.take(), as: UTF8.self)
        == "t=dummy%2Brefresh%2F0%3D%26%3F%2541+%22%5C%7E*")
    let json = SecretJSON.object("t", try UpstreamFixture.secret("a\"\\\u{1}ü"))
    #expect(String(decoding: json, as: UTF8.self) == #"{"t":"a\"\\\u0001ü"}"#)
    #expect(try await refresh(try oauth2(fixture), odd, fixture).kind == .refused)
    #expect(try await refresh(try simple(fixture), odd, fixture).kind == .refused)
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [0, 1, 2, 3, 4, 5, 58])
  func `base64 is as the RFC has it`(length: Int) {
    let bytes = Array(
      "foobar, and much more text that makes it longer than a line".utf8.prefix(length))
    let expected = [
      "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=",
      "Zm9vYmFyLCBhbmQgbXVjaCBtb3JlIHRleHQgdGhhdCBtYWtlcyBpdCBsb25nZXIgdGhhbiBhIGxpbg==",
    ]
    #expect(
      String(decoding: Base64.encode(bytes), as: UTF8.self) == expected[length == 58 ? 6 : length])
  }

  // MARK: Exactly once

  @Test(arguments: [Step.drop, .loseAnswer, .reset])
  func `a refresh whose connection dies was sent once, and its outcome is not known`(
    step: Step
  ) async throws {
    let fixture = try UpstreamFixture()
    // A kept connection to the same server stands ready to be taken.
    #expect(await fixture.get("/tips/today", bearer: "dummy-access-0").status == 200)
    for (path, endpoint) in [
      ("/auth/refresh", try simple(fixture) as any TokenEndpoint), ("/token", try oauth2(fixture)),
    ] {
      fixture.upstream.script(.post, path, [step])
      #expect(try await refresh(endpoint, "dummy-refresh-0", fixture).kind == .outcomeUnknown)
      #expect(fixture.upstream.requests(path) == 1)
    }
    #expect(Set(fixture.upstream.log.map(\.connection)).count == 3)
    #expect(await fixture.close() == 0)
  }

  @Test func `a stalled refresh is unknown, one that finds nobody is not`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.post, "/token", .hold("silent"))
    let endpoint = try oauth2(fixture)
    for milliseconds in [200, 1000, 5000, 20_000] where fixture.upstream.log.isEmpty {
      let stalled = try await refresh(
        endpoint, "dummy-refresh-0", fixture, within: .milliseconds(milliseconds))
      // On a slow machine the first may end before it has arrived.
      if !fixture.upstream.log.isEmpty { #expect(stalled.kind == .outcomeUnknown) }
    }
    #expect(fixture.upstream.log.count == 1)
    fixture.upstream.close()
    #expect(try await refresh(endpoint, "dummy-refresh-0", fixture).kind == .transient)
    #expect(await fixture.close() == 0)
  }

  @Test func `a cancelled refresh is neither failure nor success`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.script(.post, "/token", [.hold("silent")])
    let endpoint = try oauth2(fixture)
    let task = Task { try await refresh(endpoint, "dummy-refresh-0", fixture) }
    await fixture.upstream.arrived("silent")
    task.cancel()
    #expect(try await task.value.kind == .cancelled)
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `a redirect of a token request is not followed`(status: Int) async throws {
    let fixture = try UpstreamFixture()
    let other = try DemoUpstream()
    for location in [other.baseURL + "/token", "/token2", ""] {
      fixture.upstream.script(
        .post, "/token", [.respond(status: status, headers: [("Location", location)])])
      #expect(
        try await refresh(try oauth2(fixture), "dummy-refresh-0", fixture).kind == .transient)
    }
    #expect(other.log.isEmpty)
    #expect(fixture.upstream.log.count == 3)
    #expect(await fixture.close() == 0)
  }

  struct Odd: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var step: Step
    var kind: RefreshFailure.Kind
  }

  @Test(arguments: [
    Odd(
      testDescription: "a portal's page", step: .respond(status: 200, body: "<html>"),
      kind: .transient),
    Odd(testDescription: "empty", step: .respond(status: 200), kind: .transient),
    Odd(testDescription: "no token", step: .json(#"{"token_type":"Bearer"}"#), kind: .transient),
    Odd(testDescription: "204", step: .respond(status: 204), kind: .transient),
    Odd(testDescription: "too large", step: .stream(byteCount: 1 << 20), kind: .transient),
    Odd(
      testDescription: "cut",
      step: .json(#"{"access_token":"dummy-access-9"}"#).truncated(afterBytes: 33),
      kind: .outcomeUnknown),
    Odd(
      testDescription: "no last chunk",
      step: .json(#"{"access_token":"dummy-access-9"}"#).chunkedCut(afterBytes: 33),
      kind: .outcomeUnknown),
    Odd(
      testDescription: "a proxy's 400", step: .respond(status: 400, body: "<html>"),
      kind: .transient),
    Odd(testDescription: "an empty 400", step: .respond(status: 400), kind: .refusedUnclearly),
  ])
  func `an odd answer is classed as the table says`(odd: Odd) async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.script(.post, "/token", [odd.step])
    let answer = try await refresh(try oauth2(fixture), "dummy-refresh-0", fixture)
    #expect(answer.kind == odd.kind, "\(answer)")
    #expect(await fixture.close() == 0)
  }
}
