import DemoUpstream
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ScriptTests {
  private static let path = "/tips/today"

  @Test func `a script is used up step by step, then the service answers`() throws {
    let upstream = try DemoUpstream()
    upstream.script(.get, Self.path, [.respond(status: 503), .json("{}")])
    let answers = (0..<3).map { _ in ask(upstream.port, "GET", Self.path) ?? "" }
    #expect(answers[0].hasPrefix("HTTP/1.1 503 "))
    #expect(answers[1].hasSuffix("\r\n\r\n{}"))
    #expect(answers[2].hasPrefix("HTTP/1.1 401 "))
    #expect(
      upstream.lines == ["GET /tips/today 503", "GET /tips/today 200", "GET /tips/today 401"])
  }

  @Test func `a held request stops no other, and goes on when released`() async throws {
    let upstream = try DemoUpstream()
    upstream.script(.get, Self.path, [.json("{\"held\":1}").held("a")])
    let client = try #require(RawClient(port: upstream.port))
    client.send("GET", Self.path, headers: [("Connection", "close")])
    await upstream.arrived("a")
    #expect(ask(upstream.port, "GET", Self.path)?.hasPrefix("HTTP/1.1 401 ") == true)
    #expect(upstream.openRequests(Self.path) >= 1)
    upstream.release("a")
    #expect(client.readToEnd()?.hasSuffix("{\"held\":1}") == true)
  }

  @Test func `a thousand requests are held at once`() throws {
    let upstream = try DemoUpstream()
    upstream.always(.get, Self.path, .json("{}").held("all"))
    let clients = try (0..<1000).map { _ in
      let client = try #require(RawClient(port: upstream.port))
      client.send("GET", Self.path, headers: [("Connection", "close")])
      return client
    }
    #expect(upstream.waitForHold("all", count: 1000))
    #expect(upstream.peak(Self.path) == 1000)
    upstream.release("all")
    for client in clients { #expect(client.readToEnd()?.hasSuffix("{}") == true) }
  }

  @Test func `the work is done at arrival, or after the hold where that is asked for`() throws {
    let upstream = try DemoUpstream()
    let body = "{\"refreshToken\":\"dummy-refresh-0\"}"
    upstream.script(
      .post, "/auth/refresh",
      [.normal.workingAfterwards.held("late"), .hold("early")])
    let late = try #require(RawClient(port: upstream.port))
    late.send("POST", "/auth/refresh", headers: [("Connection", "close")], body: body)
    #expect(upstream.waitForHold("late"))
    #expect(upstream.isGood(refreshToken: "dummy-refresh-0"))
    let early = try #require(RawClient(port: upstream.port))
    early.send("POST", "/auth/refresh", headers: [("Connection", "close")], body: body)
    #expect(upstream.waitForHold("early"))
    #expect(!upstream.isGood(refreshToken: "dummy-refresh-0"))
    upstream.release("early")
    upstream.release("late")
    #expect(early.readToEnd()?.contains("dummy-refresh-1") == true)
    #expect(late.readToEnd()?.hasPrefix("HTTP/1.1 401 ") == true)
    #expect(upstream.peak("/auth/refresh") == 2)
  }

  @Test func `a delay passes by itself`() throws {
    let upstream = try DemoUpstream()
    upstream.script(.get, Self.path, [.json("{}").delayed(by: .milliseconds(20))])
    #expect(ask(upstream.port, "GET", Self.path)?.hasSuffix("{}") == true)
  }

  @Test func `faults on the wire are what they say`() throws {
    let upstream = try DemoUpstream()
    let answer = Step.json("{\"a\":\"0123456789\"}")
    upstream.script(
      .get, Self.path,
      [
        .drop, .reset, .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"),
        answer.truncated(afterBytes: 5), answer.chunkedCut(afterBytes: 5),
      ])
    #expect(ask(upstream.port, "GET", Self.path) == "")
    #expect(ask(upstream.port, "GET", Self.path) == nil)
    #expect(ask(upstream.port, "GET", Self.path)?.hasSuffix("\r\n\r\n{") == true)
    let truncated = ask(upstream.port, "GET", Self.path) ?? ""
    #expect(truncated.contains("Content-Length: 18\r\n"))
    #expect(truncated.hasSuffix("\r\n\r\n{\"a\":"))
    let cut = ask(upstream.port, "GET", Self.path) ?? ""
    #expect(cut.contains("Transfer-Encoding: chunked"))
    #expect(cut.hasSuffix("\r\n{\"a\":\r\n"))
    #expect(upstream.lines[0] == "GET /tips/today -")
  }

  @Test func `a body stalls half-way until it is released`() throws {
    let upstream = try DemoUpstream()
    upstream.script(.get, Self.path, [.json("{\"a\":1}").stalled(afterBytes: 3, until: "s")])
    let client = try #require(RawClient(port: upstream.port))
    client.send("GET", Self.path, headers: [("Connection", "close")])
    #expect(client.read(until: "\r\n\r\n{\"a").hasSuffix("{\"a"))
    #expect(upstream.waitForHold("s"))
    upstream.release("s")
    #expect(client.readToEnd() == "\":1}")
  }

  @Test func `a log that was cleared is not written to by requests from before`() throws {
    let upstream = try DemoUpstream()
    upstream.script(.get, Self.path, [.json("{}").held("a"), .drop])
    let client = try #require(RawClient(port: upstream.port))
    client.send("GET", Self.path, headers: [("Connection", "close")])
    #expect(upstream.waitForHold("a"))
    upstream.clearLog()
    #expect(ask(upstream.port, "GET", Self.path) == "")
    upstream.release("a")
    #expect(client.readToEnd()?.hasSuffix("{}") == true)
    #expect(upstream.lines == ["GET /tips/today -"])
  }

  @Test func `an answer can be lost after the token was spent`() throws {
    let upstream = try DemoUpstream()
    upstream.script(.post, "/auth/refresh", [.loseAnswer])
    let body = "{\"refreshToken\":\"dummy-refresh-0\"}"
    #expect(ask(upstream.port, "POST", "/auth/refresh", body: body) == "")
    #expect(upstream.tokens == TokenPair(access: "dummy-access-1", refresh: "dummy-refresh-1"))
  }

  @Test func `a departed client is seen while its request is held`() throws {
    let upstream = try DemoUpstream()
    upstream.script(.get, Self.path, [.hold("a")])
    var client = RawClient(port: upstream.port)
    client?.send("GET", Self.path)
    #expect(upstream.waitForHold("a"))
    client = nil
    #expect(upstream.waitForDeparture("a"))
    upstream.release("a")
  }

  @Test func `a closed upstream cuts what is held, and comes back at its port`() throws {
    let upstream = try DemoUpstream()
    upstream.script(.get, Self.path, [.hold("a")])
    let client = try #require(RawClient(port: upstream.port))
    client.send("GET", Self.path)
    #expect(upstream.waitForHold("a"))
    upstream.close()
    #expect(client.readToEnd() ?? "" == "")
    #expect(RawClient(port: upstream.port) == nil)
    try upstream.reopen()
    #expect(ask(upstream.port, "GET", Self.path)?.hasPrefix("HTTP/1.1 401 ") == true)
  }

  @Test(arguments: [true, false])
  func `a stream is as long as it says`(chunked: Bool) throws {
    let upstream = try DemoUpstream()
    upstream.script(.get, Self.path, [.stream(byteCount: 100_000, chunked: chunked)])
    let text = ask(upstream.port, "GET", Self.path) ?? ""
    #expect(text.contains("Content-Length: 100000\r\n") != chunked)
    #expect(text.utf8.count > 100_000)
  }

  @Test func `what the token endpoint did is known, whether or not its answer arrived`() throws {
    let upstream = try DemoUpstream()
    func refresh(_ token: String) {
      _ = ask(
        upstream.port, "POST", "/auth/refresh", body: "{\"refreshToken\":\"dummy-\(token)\"}")
    }
    upstream.script(.post, "/auth/refresh", [.loseAnswer, .drop])
    for token in ["refresh-0", "refresh-1", "refresh-0", "refresh-1"] { refresh(token) }
    let other = upstream.signIn().refresh
    refresh(String(other.dropFirst("dummy-".count)))
    let exchanges = upstream.exchanges
    #expect(exchanges.map(\.token) == ["refresh-0", "refresh-0", "refresh-1", "refresh-3"])
    #expect(exchanges.map(\.outcome) == [.granted, .spent, .granted, .granted])
    #expect(exchanges.map(\.origin) == ["refresh-0", "refresh-0", "refresh-0", "refresh-3"])
    #expect(exchanges.map(\.isAnswered) == [false, true, true, true])
    #expect(exchanges.map(\.entry) == [0, 2, 3, 4])
    #expect(upstream.arrivals == 5)
  }
}
