import Execution
import Requests
import Session
import Testing

@testable import Upstream

@Suite(.timeLimit(.minutes(1)))
struct RefreshAnswerTests {
  private static let now = WallTime(milliseconds: 1_764_000_000_000)

  struct Case: Sendable, CustomTestStringConvertible {
    var status: Int
    var body = ""
    var oauth2: RefreshFailure.Kind
    var simple: RefreshFailure.Kind?

    var testDescription: String { "\(status) \(body)" }
  }

  private static func error(_ code: String) -> String { #"{"error":"\#(code)"}"# }

  /// The refresh column of the table, row by row.
  private static let table: [Case] =
    [400, 401].flatMap { status in
      [
        Case(status: status, body: error("invalid_grant"), oauth2: .refused),
        Case(
          status: status, body: #"{"error_description":"x","error":"invalid_grant"}"#,
          oauth2: .refused),
        Case(status: status, body: error("invalid_client"), oauth2: .misconfigured),
        Case(status: status, body: error("unauthorized_client"), oauth2: .misconfigured),
        Case(status: status, body: error("unsupported_grant_type"), oauth2: .misconfigured),
        Case(status: status, body: error("invalid_scope"), oauth2: .misconfigured),
        Case(status: status, body: error("temporarily_unavailable"), oauth2: .transient),
        Case(status: status, body: error("server_error"), oauth2: .transient),
        Case(status: status, body: error("slow_down"), oauth2: .transient),
        Case(
          status: status, body: error("invalid_request"), oauth2: .refusedUnclearly,
          simple: .refused),
        Case(
          status: status, body: error("INVALID_GRANT"), oauth2: .refusedUnclearly, simple: .refused),
        Case(status: status, body: error("expired"), oauth2: .refusedUnclearly, simple: .refused),
        Case(status: status, body: #"{"error":5}"#, oauth2: .refusedUnclearly, simple: .refused),
        Case(status: status, body: "{}", oauth2: .refusedUnclearly, simple: .refused),
        Case(status: status, body: "", oauth2: .refusedUnclearly, simple: .refused),
        Case(status: status, body: " \r\n", oauth2: .refusedUnclearly, simple: .refused),
        Case(status: status, body: "<html>portal</html>", oauth2: .transient),
        Case(status: status, body: #"{"error":"invalid_grant""#, oauth2: .transient),
      ]
    } + [
      Case(status: 201, oauth2: .transient), Case(status: 204, oauth2: .transient),
      Case(status: 206, oauth2: .transient), Case(status: 304, oauth2: .transient),
      Case(status: 301, oauth2: .transient), Case(status: 302, oauth2: .transient),
      Case(status: 307, oauth2: .transient), Case(status: 308, oauth2: .transient),
      Case(status: 402, oauth2: .misconfigured), Case(status: 403, oauth2: .transient),
      Case(status: 403, body: error("invalid_grant"), oauth2: .transient),
      Case(status: 404, oauth2: .misconfigured), Case(status: 405, oauth2: .misconfigured),
      Case(status: 410, oauth2: .misconfigured), Case(status: 415, oauth2: .misconfigured),
      Case(status: 408, oauth2: .transient), Case(status: 429, oauth2: .transient),
      Case(status: 500, oauth2: .transient),
      Case(status: 500, body: error("invalid_grant"), oauth2: .transient),
      Case(status: 502, oauth2: .transient), Case(status: 503, oauth2: .transient),
      Case(status: 504, oauth2: .transient), Case(status: 599, oauth2: .transient),
    ]

  @Test(arguments: table)
  func `every answer to a refresh means what the table says`(row: Case) {
    let response = HTTPResponse(status: row.status, body: Array(row.body.utf8))
    let oauth2 = RefreshAnswer.failure(response, dialect: .oauth2, now: Self.now)
    let simple = RefreshAnswer.failure(response, dialect: .simple, now: Self.now)
    #expect(oauth2.kind == row.oauth2)
    #expect(simple.kind == row.simple ?? row.oauth2)
    #expect(oauth2.httpStatus == row.status)
    #expect(oauth2.reason.contains("\(row.status)"))
  }

  @Test(arguments: [
    (TransportError.Kind.unreachable, RefreshFailure.Kind.transient),
    (.lost, .outcomeUnknown), (.forbidden, .transient), (.malformed, .transient),
    (.invalidURL, .misconfigured), (.cancelled, .cancelled),
  ])
  func `a request without an answer is unclear only where it went out`(
    kind: TransportError.Kind, meaning: RefreshFailure.Kind
  ) {
    #expect(RefreshAnswer.failure(TransportError(kind, reason: "why")).kind == meaning)
  }

  @Test func `a wait is handed on, and a redirect is named by its origin alone`() {
    let limited = HTTPResponse(status: 429, fields: [HTTPField("Retry-After", "120")])
    #expect(
      RefreshAnswer.failure(limited, dialect: .oauth2, now: Self.now).retryAfter == .seconds(120))
    let moved = HTTPResponse(
      status: 307, fields: [HTTPField("Location", "https://other.example/x?token=dummy-secret")])
    let failure = RefreshAnswer.failure(moved, dialect: .oauth2, now: Self.now)
    #expect(failure.reason.contains("https://other.example,"))
    #expect(!failure.reason.contains("dummy-secret"))
  }

  @Test func `nothing that the upstream wrote is in a reason`() {
    for body in [
      #"{"error":"dummy-refresh-0"}"#,
      #"{"error":"invalid_grant","error_description":"dummy-refresh-0"}"#, "dummy-refresh-0",
    ] {
      let response = HTTPResponse(status: 400, body: Array(body.utf8))
      let failure = RefreshAnswer.failure(response, dialect: .oauth2, now: Self.now)
      #expect(!failure.reason.contains("dummy"))
    }
  }

  @Test(arguments: [
    // Look-up, connect, proxy.
    (5, false, TransportError.Kind.unreachable), (6, false, .unreachable), (7, true, .unreachable),
    (97, false, .unreachable),
    // Timed out, cut short, got nothing, send and receive errors, broken streams.
    (28, false, .unreachable), (28, true, .lost), (18, true, .lost), (52, true, .lost),
    (55, true, .lost), (56, true, .lost), (16, true, .lost), (92, true, .lost), (27, true, .lost),
    (35, false, .forbidden), (60, false, .forbidden), (77, false, .forbidden),
    (1, false, .forbidden), (1, true, .malformed), (61, true, .malformed), (63, true, .malformed),
    (23, true, .malformed), (8, true, .malformed), (3, false, .invalidURL),
  ])
  func `each of libcurl's codes has its kind`(
    code: UInt32, begun: Bool, kind: TransportError.Kind
  ) {
    #expect(CurlError.kind(ofCode: code, begun: begun) == kind)
  }

  @Test(arguments: [
    ("HTTP://Example.COM:80/a/../b?x=%2f", "http://example.com"),
    ("https://example.com:443/", "https://example.com"),
    ("https://example.com:8443", "https://example.com:8443"),
    ("http://[::1]:8080/", "http://[::1]:8080"),
  ])
  func `an origin is scheme, host and port`(url: String, origin: String) throws {
    #expect(try RequestTarget(url).origin == origin)
  }

  @Test(arguments: [
    "", "/tips", "example.com", "ftp://example.com/", "file:///etc/passwd", "http://",
    "http://user@example.com/", "http://a b/", "http://exa\nmple.com/", "http://bücher.example/",
    "http://example.com:99999/", "gopher://x/",
  ])
  func `a URL that could mislead is refused`(url: String) {
    #expect(throws: TransportError.self) { _ = try RequestTarget(url) }
  }

  @Test func `a path is kept as it was given`() throws {
    #expect(
      try RequestTarget("http://127.0.0.1/a/../b/%2e%2E//c").url
        == "http://127.0.0.1/a/../b/%2e%2E//c")
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("127.255.255.254", true), ("::1", true), ("::ffff:127.0.0.1", true),
    ("128.0.0.1", false), ("127.0.0.1.evil.example", false), ("127.evil.0.1", false),
    ("::2", false), ("::ffff:10.0.0.1", false), ("", false), ("0.0.0.0", false),
  ])
  func `loopback is known by its address`(address: String, expected: Bool) {
    #expect(LoopbackAddress.contains(address) == expected)
  }
}
