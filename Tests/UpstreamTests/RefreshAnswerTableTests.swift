import DemoUpstream
import Execution
import Platform
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// The refresh column of the table in contract/upstream.md, a row a case, both dialects: the real
/// coordinator, endpoint and transport, at a scripted upstream.
@Suite(.timeLimit(.minutes(1)))
struct RefreshAnswerTableTests {
  enum Expected: Sendable {
    case granted
    /// The session is over at once.
    case over
    /// A failure; the session stays, and the next try comes after the backoff.
    case stays
    /// The same, and nothing is tried until the configuration changes.
    case configuration
    /// `simple`: over at once; `oauth2`: at the third in a row.
    case unclear
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var step: Step
    var expected: Expected
    /// The wait that the caller is told.
    var wait: Int?

    init(_ name: String, _ step: Step, _ expected: Expected, wait: Int? = nil) {
      testDescription = name
      self.step = step
      self.expected = expected
      self.wait = wait
    }
  }

  private static func error(_ code: String, _ status: Int) -> Step {
    .json(#"{"error":"\#(code)","error_description":"dummy-refresh-0 is bad"}"#, status: status)
  }

  /// `{token}` and `{refresh}` are called differently in the two dialects.
  private static func granted(_ more: String = "") -> String {
    #"{"access_token":"dummy-access-8","refresh_token":"dummy-refresh-8","#
      + #""token":"dummy-access-8","refreshToken":"dummy-refresh-8""# + more + "}"
  }

  // B45, B47, B50: what a 400 and a 401 say.
  private static let refusals: [Row] = [400, 401].flatMap { status in
    [
      Row("\(status) invalid_grant", error("invalid_grant", status), .over),
      Row(
        "\(status) invalid_grant with a challenge",
        .respond(
          status: status,
          headers: [
            ("WWW-Authenticate", "Bearer error=\"invalid_grant\""), ("Content-Type", "x/y"),
          ],
          body: #"{"error":"invalid_grant"}"#), .over),
      Row("\(status) invalid_client", error("invalid_client", status), .configuration),
      Row("\(status) unauthorized_client", error("unauthorized_client", status), .configuration),
      Row(
        "\(status) unsupported_grant_type", error("unsupported_grant_type", status),
        .configuration),
      Row("\(status) invalid_scope", error("invalid_scope", status), .configuration),
      Row("\(status) temporarily_unavailable", error("temporarily_unavailable", status), .stays),
      Row("\(status) server_error", error("server_error", status), .stays),
      Row("\(status) slow_down", error("slow_down", status), .stays),
      Row("\(status) invalid_request", error("invalid_request", status), .unclear),
      Row("\(status) invalid_token", error("invalid_token", status), .unclear),
      Row(
        "\(status) a sentence as the code",
        error("failed to refresh token: invalid_grant", status), .unclear),
      Row("\(status) without a code", .json("{}", status: status), .unclear),
      Row(
        "\(status) with an object as the code", .json(#"{"error":{}}"#, status: status), .unclear),
      Row("\(status) empty", .respond(status: status), .unclear),
      Row(
        "\(status) a page",
        .respond(status: status, headers: [("Content-Type", "text/html")], body: "<html>"), .stays),
      Row(
        "\(status) JSON that is cut", .json(#"{"error":"invalid_grant""#, status: status), .stays),
      Row(
        "\(status) nested too deeply",
        .json(
          #"{"error":"invalid_grant","x":"# + String(repeating: "[", count: 60_000),
          status: status), .stays),
      Row(
        "\(status) too large",
        .json(
          #"{"error":"invalid_grant","x":""# + String(repeating: "x", count: 70_000) + #""}"#,
          status: status), .stays),
      Row(
        "\(status) problem+json",
        .respond(
          status: status, headers: [("Content-Type", "application/problem+json")],
          body: #"{"type":"about:blank","status":400}"#), .unclear),
    ]
  }

  private static let statuses: [Row] =
    [301, 302, 303, 307, 308].map {
      Row("\($0)", .respond(status: $0, headers: [("Location", "/token")]), .stays)
    } + [
      Row("300", .respond(status: 300), .stays), Row("304", .respond(status: 304), .stays),
      Row("201", .json(granted(), status: 201), .stays),
      Row("204", .respond(status: 204), .stays), Row("206", .json(granted(), status: 206), .stays),
      Row("403", .respond(status: 403), .stays),
      Row("403 invalid_grant", error("invalid_grant", 403), .stays),
      Row("404", .respond(status: 404), .configuration),
      Row("410", .respond(status: 410), .configuration),
      Row("402", .respond(status: 402), .configuration),
      Row("405", .respond(status: 405), .configuration),
      Row("415", .respond(status: 415), .configuration),
      Row("422", .respond(status: 422), .configuration),
      Row("429", .respond(status: 429), .stays),
      Row(
        "429 with a wait", .respond(status: 429, headers: [("Retry-After", "120")]), .stays,
        wait: 120),
      Row(
        "503 with a wait", .respond(status: 503, headers: [("Retry-After", "30")]), .stays, wait: 30
      ),
    ]
    + [408, 500, 502, 503, 504, 599].map {
      Row("\($0)", .respond(status: $0, body: "<html>busy</html>"), .stays)
    }

  private static let odd: [Row] = [
    // B67, B68, B72: an odd lifetime never costs the pair.
    Row("no lifetime", .json(granted()), .granted),
    Row(
      "a lifetime as text", .json(granted(#","expires_in":"3600","expiresIn":"3600""#)), .granted),
    Row("a lifetime of zero", .json(granted(#","expires_in":0,"expiresIn":0"#)), .granted),
    Row("a negative one", .json(granted(#","expires_in":-1,"expiresIn":-1"#)), .granted),
    Row("an endless one", .json(granted(#","expires_in":1e300,"expiresIn":1e300"#)), .granted),
    Row("one that is no number", .json(granted(#","expires_in":[],"expiresIn":{}"#)), .granted),
    // B85
    Row("bearer", .json(granted(#","token_type":"bearer""#)), .granted),
    Row("BEARER", .json(granted(#","token_type":"BEARER""#)), .granted),
    // B90
    Row("a byte order mark", .json("\u{FEFF}" + granted()), .granted),
    Row(
      "another charset",
      .respond(
        status: 200, headers: [("Content-Type", "application/json; charset=ISO-8859-1")],
        body: granted()), .granted),
    Row("white space around it", .json(" \r\n" + granted() + "\n"), .granted),
    // B87
    Row("no access token", .json(#"{"token_type":"Bearer"}"#), .stays),
    Row("an empty one", .json(#"{"access_token":"","token":""}"#), .stays),
    Row("one of another type", .json(#"{"access_token":5,"token":5}"#), .stays),
    Row("an empty body", .respond(status: 200), .stays),
    // B88
    Row(
      "a portal's page",
      .respond(
        status: 200, headers: [("Content-Type", "text/html")],
        body: "<html>dummy-page</html>"), .stays),
    // B97
    Row("a line end in the token", .json(#"{"access_token":"a\n","token":"a\n"}"#), .stays),
    Row(
      "a header in the token",
      .json(#"{"access_token":"a\r\nX-Evil: 1","token":"a\r\nX-Evil: 1"}"#), .stays),
    Row(
      "a token of 64 KiB",
      .json(
        #"{"access_token":""# + String(repeating: "a", count: 65_536) + #"","token":"b"}"#), .stays),
    Row(
      "a refresh token with a control character",
      .json(
        #"{"access_token":"a","token":"a","refresh_token":"b\u0000","refreshToken":"b\u0000"}"#),
      .stays),
    Row(
      "100,000 brackets",
      .json(#"{"access_token":"a","x":"# + String(repeating: "[", count: 60_000)), .stays),
    Row("two values", .json(granted() + granted()), .stays),
    Row("too large", .stream(byteCount: 1 << 20), .stays),
    Row("too large when it is unpacked", .gzipBomb(unpacked: 1 << 20), .stays),
    Row("no HTTP", .raw("hello\r\n\r\n"), .stays),
    // B92
    Row("cut", .json(granted()).truncated(afterBytes: 60), .stays),
    Row("no last chunk", .json(granted()).chunkedCut(afterBytes: granted().utf8.count), .stays),
    Row("closed unanswered", .drop, .stays), Row("reset", .reset, .stays),
  ]

  @Test(arguments: refusals + statuses + odd, [RefreshAnswer.Dialect.oauth2, .simple])
  func `every answer to a refresh means what the table says`(
    row: Row, dialect: RefreshAnswer.Dialect
  ) async throws {
    let bench = try await ServiceBench(dialect: dialect)
    // Tells a token whose type alone is bad from one that is good: only `oauth2` knows types.
    bench.upstream.always(.post, bench.refreshPath, row.step)
    let outcome = await bench.refresh()
    // One refresh is one request, whatever came of it.
    #expect(bench.upstream.requests(bench.refreshPath) == 1)
    switch row.expected {
    case .granted:
      #expect(try outcome.get().facts?.rotations == 1)
      #expect(bench.store.disk.refresh == "dummy-refresh-8")
      #expect(bench.store.disk.access == "dummy-access-8")
    case .over: try await expectEnd(bench, outcome)
    case .stays:
      // `simple` has no `access_token` to be wrong.
      if case .success = outcome, dialect == .simple { return #expect(await bench.close() == 0) }
      try await expectFailure(bench, outcome, row.wait)
      #expect(bench.store.disk.backoff != nil)
    case .configuration:
      try await expectFailure(bench, outcome, nil)
      try await expectFailure(bench, await bench.refresh(), nil)
      #expect(bench.upstream.requests(bench.refreshPath) == 1)
    case .unclear:
      guard dialect == .oauth2 else {
        try await expectEnd(bench, outcome)
        break
      }
      try await expectFailure(bench, outcome, nil, isHeld: true)
      try await endUnclearly(bench)
    }
    #expect(!bench.log.withLock { $0 }.contains { $0.contains("dummy-") })
    #expect(await bench.close() == 0)
  }

  /// The second such answer leaves the session, the third ends it.
  private func endUnclearly(_ bench: ServiceBench) async throws {
    var last = await bench.refresh()
    while bench.upstream.requests("/token") < 3 {
      #expect(await bench.isSignedIn)
      last = await bench.refresh()
    }
    try await expectEnd(bench, last)
    #expect(bench.upstream.requests("/token") == 3)
  }

  private func expectEnd(
    _ bench: ServiceBench, _ outcome: Result<SessionSnapshot, SessionError>
  ) async throws {
    guard case .failure(.signedOut) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(!(await bench.isSignedIn))
    #expect(bench.store.disk.facts == nil)
    #expect(bench.store.disk.reason?.isEmpty == false)
  }

  private func expectFailure(
    _ bench: ServiceBench, _ outcome: Result<SessionSnapshot, SessionError>, _ wait: Int?,
    isHeld: Bool = false
  ) async throws {
    guard case .failure(.refreshFailed(let reason, _, let retryAfter)) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(!reason.isEmpty && !reason.contains("dummy-"))
    if let wait { #expect(retryAfter?.secondsRoundedUp == wait) }
    #expect(await bench.isSignedIn)
    #expect(bench.store.disk.refresh == "dummy-refresh-0")
  }

  /// B83: twice in a row.
  @Test(arguments: [RefreshAnswer.Dialect.oauth2, .simple])
  func `an answer without a refresh token keeps the old one`(
    dialect: RefreshAnswer.Dialect
  ) async throws {
    let bench = try await ServiceBench(dialect: dialect)
    for number in 1...2 {
      bench.upstream.script(
        .post, bench.refreshPath,
        [.json(#"{"access_token":"dummy-access-\#(number)","token":"dummy-access-\#(number)"}"#)])
      _ = try await bench.refresh().get()
      #expect(bench.store.disk.access == "dummy-access-\(number)")
      #expect(bench.store.disk.refresh == "dummy-refresh-0")
    }
    let sent = bench.upstream.log.map { $0.fields["refresh_token"] ?? $0.fields["refreshToken"] }
    #expect(sent == ["refresh-0", "refresh-0"])
    #expect(await bench.close() == 0)
  }

  /// B85: the header says `Bearer` whatever the answer said.
  @Test(arguments: ["bearer", "BEARER", "BeArEr"])
  func `a token's type is written as the RFC has it`(type: String) async throws {
    let bench = try await ServiceBench()
    bench.upstream.expireAccessTokens()
    bench.upstream.script(
      .get, "/tips/today", [.normal, .json(#"{"id":1,"title":"t","body":"b"}"#)])
    bench.upstream.script(
      .post, "/token", [.json(#"{"access_token":"dummy-access-1","token_type":"\#(type)"}"#)])
    #expect(try await bench.tip().get().source == .network)
    let entry = try #require(bench.upstream.log.last)
    #expect(entry.bearer == "access-1")
    #expect(entry.scheme == "Bearer")
    #expect(bench.upstream.requests("/token") == 1)
    #expect(await bench.close() == 0)
  }

  /// B93
  @Test func `a plus sign in a token arrives as one`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.post, "/token", .json(#"{"access_token":"a"}"#))
    let endpoint = try OAuth2TokenEndpoint(
      transport: fixture.transport, ground: fixture.loop, baseURL: fixture.upstream.baseURL,
      tokenEndpoint: fixture.upstream.baseURL + "/token", client: OAuthClient(id: "a+b c"))
    _ = try await endpoint.refresh(
      with: UpstreamFixture.secret("a+b/c="), deadline: fixture.later)
    let entry = try #require(fixture.upstream.log.last)
    #expect(entry.fields["client_id"] == "a+b c")
    // The form's own length: the token's three odd characters take three bytes each.
    #expect(
      entry.bodyLength
        == "grant_type=refresh_token&refresh_token=a%2Bb%2Fc%3D&client_id=a%2Bb+c".utf8.count)
    #expect(await fixture.close() == 0)
  }

  /// B95
  @Test(arguments: [302, 307])
  func `a redirect never carries a refresh token to another host`(status: Int) async throws {
    let bench = try await ServiceBench()
    let other = try DemoUpstream()
    for location in [other.baseURL + "/token", "http://localhost:\(other.port)/token", "//[::1]/"] {
      bench.upstream.script(
        .post, "/token", [.respond(status: status, headers: [("Location", location)])])
      var outcome = await bench.refresh()
      // The pause of a millisecond may not be over.
      while bench.upstream.stepsLeft(.post, "/token") > 0 { outcome = await bench.refresh() }
      guard case .failure(.refreshFailed(let reason, _, _)) = outcome else {
        Issue.record("\(outcome)")
        continue
      }
      #expect(reason.contains("redirect"))
    }
    #expect(other.log.isEmpty)
    #expect(await bench.isSignedIn)
    #expect(await bench.close() == 0)
  }
}
