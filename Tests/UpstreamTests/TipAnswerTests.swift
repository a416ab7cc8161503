import DemoUpstream
import Execution
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// The tip column of the table in contract/upstream.md, a row a case: the real service, requester
/// and transport, at a scripted upstream.
@Suite(.timeLimit(.minutes(1)))
struct TipAnswerTests {
  enum Expected: Sendable, Equatable {
    case tip
    case malformed, notFound
    case refused(Int)
    /// The status and the wait in seconds.
    case unavailable(Int?, Int?)

    init(_ result: Result<TipEntry, TipError>) {
      switch result {
      case .success: self = .tip
      case .failure(.malformed): self = .malformed
      case .failure(.notFound): self = .notFound
      case .failure(.refused(_, let status)): self = .refused(status)
      case .failure(.unavailable(_, let status, let wait)):
        self = .unavailable(status, wait?.secondsRoundedUp)
      case .failure(let error):
        Issue.record("\(error)")
        self = .malformed
      }
    }

    /// Whether a cached tip stands in for it.
    var leavesTheCache: Bool {
      switch self {
      case .malformed, .unavailable: true
      case .tip, .notFound, .refused: false
      }
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var steps: [Step]
    var expected: Expected
    var requests = 1
    var refreshes = 0

    /// The same answer to every try.
    init(
      _ name: String, _ step: Step, _ expected: Expected, requests: Int = 1, refreshes: Int = 0
    ) {
      self.init(
        name, steps: step.times(requests), expected, requests: requests, refreshes: refreshes)
    }

    init(
      _ name: String, steps: [Step], _ expected: Expected, requests: Int, refreshes: Int = 0
    ) {
      testDescription = name
      self.steps = steps
      self.expected = expected
      self.requests = requests
      self.refreshes = refreshes
    }
  }

  private static let good = #"{"id":"t1","title":"Rinse","body":"Hot water first."}"#

  private static func challenge(_ values: String..., status: Int = 401) -> Step {
    .respond(status: status, headers: values.map { ("WWW-Authenticate", $0) })
  }

  private static func body(_ text: String, _ type: String = "application/json") -> Step {
    .respond(status: 200, headers: [("Content-Type", type)], body: text)
  }

  private static let expired = challenge(#"Bearer error="invalid_token""#)

  private static let read: [Row] = [
    Row("a tip", body(good), .tip),
    Row("a tip of no stated type", .respond(status: 200, body: good), .tip),
    Row("a numeric id", body(#"{"id":7,"title":"t","body":"b"}"#), .tip),
    Row("a byte order mark", body("\u{FEFF}" + good), .tip),
    Row("ASCII under another charset", body(good, "application/json; charset=ISO-8859-1"), .tip),
    Row(
      "problem+json with a 200",
      body(#"{"type":"about:blank","title":"x"}"#, "application/problem+json"), .malformed),
    Row("a portal's page", body("<html>Welcome</html>", "text/html"), .malformed),
    Row("a page that says it is JSON", body("<html>Welcome</html>"), .malformed),
    Row("an empty body", body(""), .malformed),
    Row("white space", body(" \n"), .malformed),
    Row("null", body("null"), .malformed),
    Row("an array", body("[" + good + "]"), .malformed),
    Row("no id", body(#"{"title":"t","body":"b"}"#), .malformed),
    Row("an empty id", body(#"{"id":"","title":"t","body":"b"}"#), .malformed),
    Row("an id of another type", body(#"{"id":[1],"title":"t","body":"b"}"#), .malformed),
    Row("a title of another type", body(#"{"id":1,"title":2,"body":"b"}"#), .malformed),
    Row("a body of another type", body(#"{"id":1,"title":"t","body":null}"#), .malformed),
    Row("two values", body(good + good), .malformed),
    Row("JSON that is cut but whole on the wire", body(String(good.dropLast(1))), .malformed),
    Row(
      "bytes that are no UTF-8",
      .respond(
        status: 200,
        bytes: Array(#"{"id":1,"title":"caf"#.utf8) + [0xE9] + Array(#"","body":"b"}"#.utf8)),
      .malformed),
    Row(
      "UTF-16", .respond(status: 200, bytes: [0xFF, 0xFE] + good.utf8.flatMap { [$0, 0] }),
      .malformed),
    Row(
      "nested 100,000 deep", body(String(repeating: "[", count: 100_000)), .malformed),
    Row(
      "100,000 deep inside of a tip",
      body(
        #"{"id":1,"title":"t","body":"b","x":"# + String(repeating: #"{"a":"#, count: 100_000)
          + "1" + String(repeating: "}", count: 100_001)), .malformed),
    Row("201", .json(good, status: 201), .malformed),
    Row("204", .respond(status: 204), .malformed),
    Row("206", .json(good, status: 206), .malformed),
    Row("an unasked 304", .respond(status: 304), .malformed),
    Row("more than MaxBodyBytes", .stream(byteCount: 2 << 20), .malformed),
    Row("more, in chunks", .stream(byteCount: 2 << 20, chunked: true), .malformed),
  ]

  private static let redirects: [Row] = [
    Row(
      "to another origin",
      .respond(status: 302, headers: [("Location", "http://localhost:1/tips")]), .malformed),
    Row("to nowhere", .respond(status: 302), .malformed),
    Row("300", .respond(status: 300), .malformed),
    Row(
      "round in circles", .respond(status: 307, headers: [("Location", "/tips/today")]),
      .malformed, requests: 6),
    Row(
      "within the origin",
      steps: [.respond(status: 308, headers: [("Location", "/tips/today")]), body(good)], .tip,
      requests: 2),
  ]

  private static let refusals: [Row] =
    [
      Row("401, then good", steps: [expired, body(good)], .tip, requests: 2, refreshes: 1),
      Row(
        "401 without a challenge, then good", steps: [.respond(status: 401), body(good)], .tip,
        requests: 2, refreshes: 1),
      Row("401 twice", expired, .refused(401), requests: 2, refreshes: 1),
      Row(
        "401 for want of a scope", challenge(#"Bearer error="insufficient_scope""#), .refused(401)),
      Row(
        "the same behind other challenges",
        challenge(#"Basic realm="a, b", Digest realm="c", Bearer error="insufficient_scope""#),
        .refused(401)),
      Row(
        "the same in a field of its own",
        challenge("Negotiate", #"Bearer error="insufficient_scope", scope="tips""#), .refused(401)),
      Row(
        "words that only look like it",
        steps: [challenge(#"Basic realm="error=insufficient_scope", Bearer"#), body(good)], .tip,
        requests: 2, refreshes: 1),
      // B53
      Row(
        "403 for want of a scope",
        challenge(#"Bearer error="insufficient_scope""#, status: 403), .refused(403)),
      Row("403", .respond(status: 403), .refused(403)),
      Row("400", .json(#"{"error":"bad"}"#, status: 400), .refused(400)),
      Row("404", .respond(status: 404), .notFound),
      Row("410", .respond(status: 410), .notFound),
      Row("404 with a page", .respond(status: 404, body: "<html>"), .notFound),
    ]
    + [402, 405, 406, 409, 411, 415, 418, 422, 423, 428, 431, 451].map {
      Row("\($0)", .respond(status: $0), .refused($0))
    }

  private static func wait(_ status: Int, _ value: String) -> Step {
    .respond(status: status, headers: [("Retry-After", value)])
  }

  private static let waits: [Row] =
    [
      Row("429", .respond(status: 429), .unavailable(429, nil)),
      // B59, B60
      Row("429 with seconds", wait(429, "7"), .unavailable(429, 7)),
      Row("429 with a past date", wait(429, "Sun, 06 Nov 1994 08:49:37 GMT"), .unavailable(429, 0)),
      Row(
        "429 with a date by the server's own clock",
        .respond(
          status: 429,
          headers: [
            ("Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT"),
            ("Date", "Sunday, 06-Nov-94 08:49:37 GMT"),
          ]), .unavailable(429, 30)),
      Row("429 with a negative wait", wait(429, "-5"), .unavailable(429, nil)),
      Row("429 with a fraction", wait(429, "1.5"), .unavailable(429, nil)),
      Row("429 with words", wait(429, "soon"), .unavailable(429, nil)),
      Row(
        "429 with an endless wait", wait(429, "99999999999999999999"),
        .unavailable(429, 1_000_000_000)),
      Row("503 with a wait beyond the caller's", wait(503, "60"), .unavailable(503, 60)),
      Row(
        "500 with a wait, which only a 503 may ask for", wait(500, "60"), .unavailable(500, nil),
        requests: 3),
    ]
    + [408, 500, 501, 502, 503, 504, 507, 511, 599].map {
      Row("\($0), three times", .respond(status: $0), .unavailable($0, nil), requests: 3)
    } + [
      Row(
        "503 twice, then good",
        steps: Step.respond(status: 503, body: "<html>busy</html>").times(2) + [body(good)], .tip,
        requests: 3),
      Row(
        "retries count over both tries",
        steps: [.respond(status: 500), expired, .respond(status: 500), .respond(status: 500)],
        .unavailable(500, nil), requests: 4, refreshes: 1),
    ]

  private static let faults: [Row] = [
    Row("closed unanswered", .drop, .unavailable(nil, nil), requests: 3),
    Row("reset", .reset, .unavailable(nil, nil), requests: 3),
    // B92
    Row(
      "a length that is not reached", body(good).truncated(afterBytes: 20),
      .unavailable(nil, nil), requests: 3),
    Row(
      "a part that is JSON", body(good + "    ").truncated(afterBytes: good.utf8.count),
      .unavailable(nil, nil), requests: 3),
    Row(
      "no last chunk", body(good).chunkedCut(afterBytes: good.utf8.count),
      .unavailable(nil, nil), requests: 3),
    Row("cut once, then good", steps: [.reset, body(good)], .tip, requests: 2),
    Row("no HTTP", .raw("hello\r\n\r\n"), .malformed),
  ]

  @Test(arguments: read + redirects + refusals + waits + faults)
  func `every answer to a tip request means what the table says`(row: Row) async throws {
    let bench = try await ServiceBench()
    bench.upstream.script(.get, "/tips/today", row.steps)
    bench.upstream.always(.get, "/tips/today", .json("{}", status: 418))
    #expect(Expected(await bench.tip(wait: .seconds(20))) == row.expected)
    #expect(bench.upstream.requests("/tips/today") == row.requests)
    #expect(bench.upstream.requests("/token") == row.refreshes)
    #expect(await bench.isSignedIn)
    // Nothing but a tip is ever kept.
    if row.expected != .tip { #expect(bench.store.disk.tips.isEmpty) }
    #expect(await bench.close() == 0)
  }

  @Test(arguments: read + redirects + refusals + waits + faults)
  func `a cached tip stands in where the table says, as stale and with the reason`(row: Row)
    async throws
  {
    let bench = try await ServiceBench()
    bench.upstream.script(.get, "/tips/today", [Self.body(Self.good)])
    let held = try await bench.tip().get()
    bench.upstream.script(.get, "/tips/today", row.steps)
    bench.upstream.always(.get, "/tips/today", .json("{}", status: 418))
    let result = await bench.tip(wait: .seconds(20))
    if row.expected.leavesTheCache {
      let entry = try result.get()
      #expect(entry.cached == held.cached)
      #expect(entry.source == .cache)
      #expect(entry.staleReason?.isEmpty == false)
    } else {
      #expect(Expected(result) == row.expected)
    }
    #expect(await bench.close() == 0)
  }

  @Test func `304 makes the cached tip fresh`() async throws {
    let bench = try await ServiceBench()
    bench.upstream.script(
      .get, "/tips/today",
      [
        .respond(status: 200, headers: [("ETag", "\"a\"")], body: Self.good),
        .respond(status: 304),
      ])
    let first = try await bench.tip().get()
    let second = try await bench.tip().get()
    #expect(second.source == .revalidated)
    #expect(second.staleReason == nil)
    #expect(second.cached.tip == first.cached.tip)
    #expect(bench.upstream.log.last?.headers["if-none-match"] == "\"a\"")
    #expect(await bench.close() == 0)
  }

  @Test func `an upstream that nobody serves is unavailable, and tried again`() async throws {
    let bench = try await ServiceBench()
    bench.upstream.close()
    #expect(Expected(await bench.tip()) == .unavailable(nil, nil))
    let counters = await bench.requester.counters
    #expect(counters.upstreamRequests == 3)
    #expect(counters.retries == 2)
    #expect(await bench.close() == 0)
  }

  /// Bad TLS, and a protocol that is not allowed.
  @Test(arguments: ["https://127.0.0.1:", "ftp://127.0.0.1:"])
  func `what may not be used is unavailable without a retry`(scheme: String) async throws {
    let fixture = try UpstreamFixture()
    let (ground, base) = (fixture.loop, scheme + "\(fixture.upstream.port)")
    let endpoint = try OAuth2TokenEndpoint(
      transport: fixture.transport, ground: ground, baseURL: fixture.upstream.baseURL,
      tokenEndpoint: fixture.upstream.baseURL + "/token", client: OAuthClient(id: "brewlog"))
    let store = MemoryStore()
    let coordinator = SessionCoordinator(
      ground: ground, store: store, endpoint: endpoint, policy: SessionPolicy())
    try await coordinator.start()
    _ = try await coordinator.importCredentials(
      ImportedCredentials(
        access: UpstreamFixture.secret("dummy-access-0"), refresh: nil, lifetime: nil,
        account: nil, scope: nil))
    let requester = ResilientRequester(
      ground: ground, coordinator: coordinator, transport: fixture.transport, base: base)
    let request = Endpoint<Bool>(
      .get, "/tips/today", repetition: .idempotent, interpret: { _ in true })
    do throws(RequestError) {
      _ = try await requester.send(request, by: fixture.later)
      Issue.record("answered")
    } catch {
      guard case .transport = error else {
        Issue.record("\(error)")
        return
      }
    }
    #expect(await requester.counters.upstreamRequests == 1)
    #expect(fixture.upstream.log.isEmpty)
    #expect(await fixture.close() == 0)
  }
}
