import JSON
import Testing

@testable import DemoUpstream

@Suite(.timeLimit(.minutes(1)))
struct ServiceTests {
  private func request(
    _ method: Method, _ target: String, access: String? = "dummy-access-0",
    headers: [String: String] = [:], body: String = ""
  ) -> Request {
    var headers = headers
    if let access { headers["authorization"] = "bearer \(access)" }
    return Request(method: method, target: target, headers: headers, body: Array(body.utf8))
  }

  private func form(_ body: String, authorization: String? = nil) -> Request {
    var headers = ["content-type": "application/x-www-form-urlencoded"]
    headers["authorization"] = authorization
    return Request(method: .post, target: "/token", headers: headers, body: Array(body.utf8))
  }

  private func json(_ answer: Answer) throws -> JSONValue {
    try JSONText.decode(JSONValue.self, from: answer.body)
  }

  @Test func `a tip is served with a tag that a client can ask with`() throws {
    var service = Service(DemoOptions())
    let answer = service.answer(request(.get, "/tips/bloom"))
    #expect(answer.status == 200)
    #expect(try json(answer)["title"]?.string == "Let it bloom")
    let tag = try #require(answer.fields.first { $0.name == "ETag" }?.value)
    for list in [tag, "\"x\", W/\(tag)", "*"] {
      let again = service.answer(request(.get, "/tips/bloom", headers: ["if-none-match": list]))
      #expect(again.status == 304)
      #expect(again.body.isEmpty)
    }
    #expect(service.answer(request(.get, "/tips/%62loom")).status == 200)
    #expect(service.answer(request(.get, "/tips/unknown")).status == 404)
    #expect(service.answer(request(.post, "/tips/today")).status == 405)
  }

  @Test func `the tip of the day goes through all tips and carries its date`() throws {
    var seen: Set<String> = []
    for day in 1...31 { seen.insert(DemoTip.ofTheDay("2026-01-\(day)").id) }
    for day in 1...28 { seen.insert(DemoTip.ofTheDay("2026-02-\(day)").id) }
    #expect(seen.count == DemoTip.all.count)
    #expect(Set(DemoTip.all.map(\.id)).count == DemoTip.all.count)
    var options = DemoOptions()
    options.today = "2026-03-01"
    var service = Service(options)
    #expect(
      try json(service.answer(request(.get, "/tips/today")))["date"]?.string == "2026-03-01")
  }

  @Test func `an idempotency key counts once`() {
    var service = Service(DemoOptions())
    func rate(_ rating: String, _ key: String?) -> Int {
      service.answer(
        request(
          .post, "/tips/bloom/rating", headers: key.map { ["idempotency-key": $0] } ?? [:],
          body: "{\"rating\":\(rating)}")
      ).status
    }
    #expect(rate("4", "k") == 200)
    #expect(rate("4", "k") == 200)
    #expect(rate("5", "k") == 422)
    #expect(rate("5", "other") == 200)
    for wrong in ["0", "6", "\"3\"", "3.5"] { #expect(rate(wrong, nil) == 400) }
    #expect(service.ratings.of("bloom") == [4, 5])
  }

  @Test func `tokens expire, are spent once, and the clock can be turned`() throws {
    var service = Service(DemoOptions())
    #expect(service.answer(request(.get, "/tips/today")).status == 200)
    service.skew = .seconds(3601)
    let refused = service.answer(request(.get, "/tips/today"))
    #expect(refused.status == 401)
    #expect(refused.fields.contains { $0.value.contains("error=\"invalid_token\"") })
    let body = "{\"refreshToken\":\"dummy-refresh-0\"}"
    let refresh = request(.post, "/auth/refresh", access: nil, body: body)
    #expect(
      try json(service.answer(refresh)) == [
        "token": "dummy-access-1", "refreshToken": "dummy-refresh-1", "expiresIn": 3600,
      ])
    #expect(service.answer(refresh).status == 401)
    #expect(service.answer(request(.get, "/tips/today", access: "dummy-access-1")).status == 200)
  }

  @Test func `a spent token ends the session where reuse is watched for`() {
    var options = DemoOptions()
    options.reuse = .endsSession
    var service = Service(options)
    let grant = form("grant_type=refresh_token&refresh_token=dummy-refresh-0")
    #expect(service.answer(grant).status == 200)
    #expect(service.answer(grant).status == 400)
    #expect(service.account.state(ofRefresh: "dummy-refresh-1") == .revoked)
    #expect(service.answer(request(.get, "/tips/today", access: "dummy-access-1")).status == 401)
  }

  @Test(arguments: [
    ("grant_type=refresh_token&refresh_token=dummy-refresh-0", 200, nil),
    ("grant_type=refresh_token&refresh_token=other", 400, "invalid_grant"),
    ("grant_type=refresh_token", 400, "invalid_request"),
    ("grant_type=password", 400, "unsupported_grant_type"),
    ("", 400, "invalid_request"),
  ])
  func `the token endpoint answers by the book`(body: String, status: Int, error: String?) throws {
    var service = Service(DemoOptions())
    let answer = service.answer(form(body))
    #expect(answer.status == status)
    #expect(try json(answer)["error"]?.string == error)
  }

  @Test func `a client proves itself by header or form`() {
    var options = DemoOptions()
    options.client = .init(id: "brew", secret: "dummy secret")
    var service = Service(options)
    let body = "grant_type=refresh_token&refresh_token=x"
    #expect(service.answer(form(body)).status == 401)
    // base64 of "brew:dummy+secret"
    #expect(
      service.answer(form(body, authorization: "Basic YnJldzpkdW1teStzZWNyZXQ=")).status == 400)
    #expect(
      service.answer(form(body + "&client_id=brew&client_secret=dummy%20secret")).status == 400)
  }

  @Test func `an empty refresh needs an access token from here`() {
    var service = Service(DemoOptions())
    #expect(service.answer(request(.post, "/auth/refresh")).status == 200)
    #expect(service.answer(request(.post, "/auth/refresh", access: nil)).status == 401)
    #expect(service.answer(request(.post, "/auth/refresh", access: "other")).status == 401)
  }

  @Test func `neither log nor line holds a token`() {
    let entry = LogEntry(
      request(.post, "/tips/\u{1b}x?code=dummy", body: "{\"refreshToken\":\"dummy-refresh-7\"}"),
      connection: 1)
    #expect(entry.bearer == "access-0")
    #expect(entry.fields == ["refreshToken": "refresh-7"])
    #expect(entry.line == "POST /tips/?x -")
    #expect(!"\(entry)".contains("dummy-refresh"))
  }

  @Test func `the program's arguments are checked`() throws {
    let arguments = try ProgramArguments(["--port=8080", "--access-ttl", "5", "--log", "x"])
    #expect(arguments.port == 8080)
    #expect(arguments.accessLifetime == .seconds(5))
    #expect(arguments.logFile == "x")
    for wrong in [["--port"], ["--port", "x"], ["--access-ttl=0"], ["x"]] {
      #expect(throws: ProgramArguments.UsageError.self) { try ProgramArguments(wrong) }
    }
  }
}
