import Execution
import FoundationEssentials
import JSON
import Requests
import Session
import Testing
import Tips

/// The pure rules, as tables.
@Suite(.timeLimit(.minutes(1)))
struct TableTests {
  // MARK: RetryPolicy

  private func decide(
    _ status: Int, _ fields: [HTTPField] = [], mayRepeat: Bool = true, retries: Int = 0,
    hasRefreshed: Bool = false, remaining: Duration = .seconds(30)
  ) -> RetryPolicy.Decision {
    var budget = RetryPolicy.Budget()
    budget.retries = retries
    budget.hasRefreshed = hasRefreshed
    return RetryPolicy().decide(
      .success(HTTPResponse(status: status, fields: fields)), mayRepeat: mayRepeat,
      budget: budget, remaining: remaining, wallTime: WallTime(milliseconds: 0))
  }

  @Test(arguments: [200, 204, 299, 304])
  func `an answer is delivered`(status: Int) {
    #expect(decide(status) == .deliver)
  }

  @Test(arguments: [408, 500, 502, 503, 504, 599])
  func `an absent upstream is tried again, twice`(status: Int) {
    #expect(decide(status) == .retry(after: .milliseconds(200)))
    #expect(decide(status, retries: 1) == .retry(after: .milliseconds(400)))
    for decision in [
      decide(status, retries: 2), decide(status, mayRepeat: false),
      decide(status, remaining: .milliseconds(200)),
    ] {
      guard case .fail(.unavailable(_, status, _)) = decision else {
        Issue.record("\(decision)")
        continue
      }
    }
  }

  @Test
  func `a 401 is mended once, where a refresh can mend it`() {
    #expect(decide(401) == .recover)
    let scope = HTTPField("WWW-Authenticate", "Bearer realm=\"x\", error=\"insufficient_scope\"")
    for decision in [
      decide(401, hasRefreshed: true), decide(401, mayRepeat: false), decide(401, [scope]),
    ] {
      guard case .fail(.refused(_, 401)) = decision else {
        Issue.record("\(decision)")
        continue
      }
    }
  }

  @Test
  func `a wait that is asked for is kept, or handed on`() {
    let wait = [HTTPField("Retry-After", "7")]
    #expect(decide(503, wait) == .retry(after: .seconds(7)))
    for decision in [decide(503, wait, remaining: .seconds(7)), decide(429, wait)] {
      guard case .fail(.unavailable(_, _, .seconds(7))) = decision else {
        Issue.record("\(decision)")
        continue
      }
    }
  }

  @Test
  func `what no retry mends is final`() {
    #expect(decide(404) == .fail(.notFound))
    #expect(decide(410) == .fail(.notFound))
    for status in [400, 403, 409, 422] {
      guard case .fail(.refused(_, status)) = decide(status) else {
        Issue.record("\(status)")
        continue
      }
    }
    guard case .fail(.malformed) = decide(302) else {
      Issue.record("302")
      return
    }
  }

  @Test(arguments: [
    (TransportError.Kind.unreachable, false, true), (.unreachable, true, true),
    (.lost, true, true), (.lost, false, false), (.forbidden, true, false),
    (.malformed, true, false), (.invalidURL, true, false), (.cancelled, true, false),
  ])
  func `what was surely not sent is sent again`(
    kind: TransportError.Kind, mayRepeat: Bool, isRetried: Bool
  ) {
    let decision = RetryPolicy().decide(
      .failure(TransportError(kind, reason: "x")), mayRepeat: mayRepeat,
      budget: RetryPolicy.Budget(), remaining: .seconds(30), wallTime: WallTime(milliseconds: 0))
    if case .retry = decision { #expect(isRetried) } else { #expect(!isRetried) }
  }

  // MARK: Freshness

  private let freshness = Freshness(
    defaultLifetime: .seconds(60), staleIfError: .seconds(100), dayZone: .gmt)
  private let noon = WallTime(milliseconds: 1_800_057_600_000)

  private func tip(_ key: TipKey, date: String? = nil) throws -> CachedTip {
    CachedTip(
      key: key, tip: Tip(id: "1", date: date, title: "t", body: "b"),
      session: try #require(SessionID(bytes: Array(repeating: 1, count: 16))),
      generation: Generation(1), fetchedAt: noon, freshFor: .seconds(60))
  }

  @Test(arguments: [
    (0, nil, true), (59, nil, true), (60, nil, false), (-100, nil, true), (10, 10, true),
    (11, 10, false), (0, 0, false), (90, 100, true),
  ])
  func `a tip is fresh for its lifetime, or for as long as the caller says`(
    age: Int, maxAge: Int?, isFresh: Bool
  ) throws {
    let now = noon.advanced(by: .seconds(age))
    let bound = maxAge.map { Duration.seconds($0) }
    #expect(freshness.isFresh(try tip(.item("1")), now: now, maxAge: bound) == isFresh)
  }

  @Test
  func `a tip of another day is never fresh as today's`() throws {
    let yesterday = try tip(.today, date: "2000-01-01")
    #expect(!freshness.isFresh(yesterday, now: noon, maxAge: nil))
    let today = try tip(.today, date: freshness.day(of: noon))
    #expect(freshness.isFresh(today, now: noon, maxAge: nil))
    let undated = try tip(.today)
    #expect(freshness.isFresh(undated, now: noon, maxAge: nil))
    #expect(
      !freshness.isFresh(
        undated, now: noon.advanced(by: .seconds(86_400)), maxAge: .seconds(99_999)))
  }

  @Test
  func `a stale tip is served for so long after its lifetime`() throws {
    let cached = try tip(.item("1"))
    #expect(freshness.mayServeStale(cached, now: noon.advanced(by: .seconds(159))))
    #expect(!freshness.mayServeStale(cached, now: noon.advanced(by: .seconds(160))))
  }

  // MARK: TipFields, JSONPointer

  @Test
  func `a tip is read by its pointers, and what has no name is kept`() throws {
    let text =
      "{\"id\":7,\"title\":\"T\",\"body\":\"B\",\"date\":5,\"tags\":[\"a\",1],\"x\":{\"y\":[1.5]}}"
    let read = try Bench.fields().read(Array(text.utf8))
    #expect(read.id == "7" && read.date == nil && read.tags == ["a"] && read.url == nil)
    #expect(read.extra.keys.sorted() == ["x"])
  }

  @Test(arguments: [
    "", "[]", "<html>", "{\"title\":\"T\",\"body\":\"B\"}",
    "{\"id\":\"\",\"title\":\"T\",\"body\":\"B\"}",
    "{\"id\":\"1\",\"title\":2,\"body\":\"B\"}", "{\"id\":\"1\",\"title\":\"T\",\"body\":null}",
  ])
  func `what is not a tip is malformed`(text: String) throws {
    let fields = try Bench.fields()
    #expect(throws: RequestError.self) { try fields.read(Array(text.utf8)) }
  }

  @Test(arguments: [
    ("", true), ("/a", true), ("/a~1b", true), ("/m~0n", true), ("/list/1", true),
    ("/list/01", false), ("/list/2", false), ("/a~", false), ("a", false), ("/a~2", false),
    ("/none", false), ("/", true),
  ])
  func `a pointer finds what it names`(text: String, isFound: Bool) {
    let root: JSONValue = ["a": 1, "a/b": 2, "m~n": 3, "list": [1, 2], "": 4]
    #expect((JSONPointer(text)?.value(in: root) != nil) == isFound)
  }

  // MARK: Endpoint

  @Test
  func `a URL is built from encoded parts`() throws {
    let endpoint = Endpoint<Int>(
      .get, "/tips/" + PercentEncoding.encode("a/b ü~"),
      query: [HTTPField("q", "x&y=z"), HTTPField("p", "1")], repetition: .keyed("k"),
      interpret: { $0.status })
    let request = try endpoint.request(base: "https://api.example.test/v1//")
    #expect(
      request.url == "https://api.example.test/v1/tips/a%2Fb%20%C3%BC~?q=x%26y%3Dz&p=1")
    #expect(request.fields == [HTTPField("Idempotency-Key", "k")])
  }

  @Test(arguments: ["tips", "", "/a b", "/ü", "/a\u{7F}", "/a\n"])
  func `a path that is not one is refused`(path: String) {
    let endpoint = Endpoint<Int>(.get, path, repetition: .idempotent, interpret: { $0.status })
    #expect(throws: RequestError.self) {
      try endpoint.request(base: "https://api.example.test")
    }
  }
}
