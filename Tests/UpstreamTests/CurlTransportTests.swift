import DemoUpstream
import Execution
import Platform
import Requests
import TestSupport
import Testing

@testable import Upstream

@Suite(.timeLimit(.minutes(1)))
struct CurlTransportTests {
  @Test func `a request arrives as it was built, and its answer comes back whole`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(
      .get, "/a/../b/%2e%2E//c",
      .respond(status: 404, headers: [("X-Mine", " spaced "), ("x-mine", "second")], body: "none"))
    let result = await fixture.get(
      "/a/../b/%2e%2E//c?q=%2f&r", bearer: "dummy-access-0",
      fields: [HTTPField("Accept", "application/json"), HTTPField("X-Empty", "")])
    let response = try result.get()
    #expect(response.status == 404)
    #expect(String(decoding: response.body, as: UTF8.self) == "none")
    #expect(response.field("X-MINE") == "spaced")
    let entry = try #require(fixture.upstream.log.first)
    #expect(entry.path == "/a/../b/%2e%2E//c")
    #expect(entry.bearer == "access-0")
    #expect(entry.headers["accept"] == "application/json")
    #expect(entry.headers["user-agent"] == "brewlog-tests/1")
    #expect(entry.headers["x-empty"] == "")
    #expect(entry.headers["cookie"] == nil)
    #expect(await fixture.close() == 0)
  }

  @Test func `a body is posted with its length and no header that was not asked for`() async throws
  {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.post, "/x", .json("{}", status: 201))
    for body in [[], Array("{\"rating\": 5}".utf8)] {
      let request = HTTPRequest(method: .post, url: fixture.upstream.baseURL + "/x", body: body)
      #expect(await fixture.send(request).status == 201)
      let entry = try #require(fixture.upstream.log.last)
      #expect(entry.bodyLength == body.count)
      #expect(entry.headers["content-length"] == "\(body.count)")
      #expect(entry.headers["content-type"] == nil)
      #expect(entry.headers["expect"] == nil)
    }
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [200, 204, 304, 400, 401, 403, 500, 503])
  func `every status is an answer`(status: Int) async throws {
    let fixture = try UpstreamFixture()
    let challenges = ["Basic realm=x", "Bearer", "Digest realm=x, nonce=y", "Negotiate", "NTLM"]
    fixture.upstream.always(
      .get, "/x",
      .respond(status: status, headers: challenges.map { ("WWW-Authenticate", $0) }))
    #expect(await fixture.get("/x", bearer: "dummy-access-0").status == status)
    #expect(fixture.upstream.requests("/x") == 1)
    #expect(await fixture.close() == 0)
  }

  @Test func `GETs share a connection, POSTs have their own`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.get, "/x", .json("{}"))
    fixture.upstream.always(.post, "/x", .json("{}"))
    _ = await fixture.get("/x")
    _ = await fixture.get("/x")
    for _ in 0..<2 {
      _ = await fixture.send(
        HTTPRequest(method: .post, url: fixture.upstream.baseURL + "/x", body: [0x61]))
    }
    _ = await fixture.get("/x")
    let connections = fixture.upstream.log.map(\.connection)
    #expect(connections[0] == connections[1] && connections[0] == connections[4])
    #expect(Set(connections).count == 3)
    #expect(await fixture.close() == 0)
  }

  // MARK: Answers that are not whole

  struct Broken: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var step: Step
    var kind: TransportError.Kind
  }

  @Test(arguments: [
    Broken(
      testDescription: "length not reached", step: .json("{\"a\":1}").truncated(afterBytes: 7),
      kind: .lost),
    Broken(
      testDescription: "no last chunk", step: .json("{\"a\":1}").chunkedCut(afterBytes: 7),
      kind: .lost),
    Broken(testDescription: "closed unanswered", step: .drop, kind: .lost),
    Broken(testDescription: "reset", step: .reset, kind: .lost),
    Broken(testDescription: "not HTTP", step: .raw("hello\r\n\r\n"), kind: .malformed),
    Broken(
      testDescription: "half a head", step: .raw("HTTP/1.1 200 OK\r\nContent-Le"), kind: .lost),
    Broken(testDescription: "1 GiB", step: .stream(byteCount: 1 << 30), kind: .malformed),
    Broken(
      testDescription: "1 GiB in chunks", step: .stream(byteCount: 1 << 30, chunked: true),
      kind: .malformed),
    Broken(testDescription: "gzip bomb", step: .gzipBomb(unpacked: 1 << 30), kind: .malformed),
    Broken(
      testDescription: "broken gzip",
      step: .respond(status: 200, headers: [("Content-Encoding", "gzip")], body: "not gzip at all"),
      kind: .malformed),
    Broken(
      testDescription: "endless head",
      step: .raw(
        "HTTP/1.1 200 OK\r\n"
          + String(repeating: "X-A: \(String(repeating: "b", count: 900))\r\n", count: 100) + "\r\n"
      ),
      kind: .malformed),
  ])
  func `a broken answer is an error of its kind, and the request went out once`(
    broken: Broken
  ) async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.get, "/x", broken.step)
    let result = await fixture.get("/x")
    #expect(result.kind == broken.kind, "\(result)")
    #expect(fixture.upstream.requests("/x") == 1)
    #expect(await fixture.close() == 0)
  }

  @Test func `a body of exactly the bound is taken, one byte more is not`() async throws {
    let fixture = try UpstreamFixture { $0.maxBodyBytes = 5000 }
    fixture.upstream.script(
      .get, "/x", [.stream(byteCount: 5000), .stream(byteCount: 5001, chunked: true)])
    let result = await fixture.get("/x")
    #expect(result.body?.utf8.count == 5000)
    #expect(await fixture.get("/x").kind == .malformed)
    #expect(await fixture.close() == 0)
  }

  // MARK: Time

  @Test func `a stall ends at the deadline, before and within the body`() async throws {
    let fixture = try UpstreamFixture()
    for step in [Step.hold("silent"), .json("{\"a\": 1}").stalled(afterBytes: 3)] {
      fixture.upstream.always(.get, "/x", step)
      try await timeOut(fixture, "/x", arrivingAt: "/x")
    }
    #expect(await fixture.close() == 0)
  }

  @Test func `the deadline holds over redirects`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.get, "/x", .respond(status: 302, headers: [("Location", "/y")]))
    fixture.upstream.always(.get, "/y", .hold("silent"))
    try await timeOut(fixture, "/x", arrivingAt: "/y")
    #expect(await fixture.close() == 0)
  }

  /// Lets a request run into its deadline; again with more time where a slow machine had not even
  /// brought it to the server by then.
  private func timeOut(
    _ fixture: UpstreamFixture, _ path: String, arrivingAt end: String
  ) async throws {
    for milliseconds in [200, 1000, 5000, 20_000] {
      let before = fixture.upstream.requests(end)
      let result = await fixture.get(path, within: .milliseconds(milliseconds))
      #expect(result.reason.contains("in time"))
      if fixture.upstream.requests(end) > before {
        #expect(result.kind == .lost)
        return
      }
    }
    Issue.record("the request never arrived")
  }

  @Test func `a deadline that has passed sends nothing`() async throws {
    let fixture = try UpstreamFixture()
    #expect(await fixture.get("/x", within: .zero).kind == .unreachable)
    #expect(fixture.upstream.log.isEmpty)
    #expect(await fixture.close() == 0)
  }

  @Test func `a refused connection is unreachable`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.close()
    #expect(await fixture.get("/x").kind == .unreachable)
    #expect(await fixture.close() == 0)
  }

  // MARK: Cancellation

  @Test func `a task that is cancelled before it starts sends nothing`() async throws {
    let fixture = try UpstreamFixture()
    let gate = Gate()
    let task = Task {
      await gate.wait()
      return await fixture.get("/x")
    }
    await gate.arrived(1)
    task.cancel()
    gate.open()
    #expect(await task.value.kind == .cancelled)
    #expect(fixture.upstream.log.isEmpty)
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: ["waiting", "receiving"])
  func `a cancelled task ends its transfer at once`(phase: String) async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(
      .get, "/x",
      phase == "waiting" ? .hold(phase) : .json("{\"a\": 1}").stalled(afterBytes: 3, until: phase))
    let task = Task { await fixture.get("/x") }
    await fixture.upstream.arrived(phase)
    task.cancel()
    #expect(await task.value.kind == .cancelled)
    #expect(await fixture.transport.inFlight == 0)
    #expect(fixture.upstream.waitForDeparture(phase))
    #expect(await fixture.close() == 0)
  }

  @Test func `a cancelled task ends its connecting at once`() async throws {
    // Long enough for a crowded machine: the loop below would miss a transfer that has timed out.
    let fixture = try UpstreamFixture { $0.connectTimeout = .seconds(600) }
    let mute = try MuteListener()
    let request = HTTPRequest(method: .get, url: "http://127.0.0.1:\(mute.port)/x")
    let task = Task { await fixture.send(request, within: .seconds(600)) }
    while await fixture.transport.inFlight == 0 { await Task.yield() }
    task.cancel()
    #expect(await task.value.kind == .cancelled)
    #expect(await fixture.close() == 0)
  }

  @Test func `a connection that does not come up in time is unreachable, not lost`() async throws {
    let fixture = try UpstreamFixture { $0.connectTimeout = .milliseconds(100) }
    let mute = try MuteListener()
    let request = HTTPRequest(method: .get, url: "http://127.0.0.1:\(mute.port)/x")
    #expect(await fixture.send(request).kind == .unreachable)
    #expect(await fixture.close() == 0)
  }

  @Test func `closing ends all that is on its way`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.get, "/x", .hold("x"))
    let tasks = (0..<5).map { _ in Task { await fixture.get("/x") } }
    await fixture.upstream.arrived("x", count: 5)
    #expect(await fixture.close() == 5)
    for task in tasks { #expect(await task.value.kind == .cancelled) }
    #expect(await fixture.get("/x").kind == .cancelled)
  }

  @Test func `fifty at once get an answer each, their own`() async throws {
    let fixture = try UpstreamFixture()
    for index in 0..<50 {
      fixture.upstream.always(.get, "/\(index)", Step.json("\(index)").held("all"))
    }
    let tasks = (0..<50).map { index in Task { await fixture.get("/\(index)").body } }
    await fixture.upstream.arrived("all", count: 50)
    fixture.upstream.release("all")
    for (index, task) in tasks.enumerated() { #expect(await task.value == "\(index)") }
    #expect(fixture.upstream.log.count == 50)
    #expect(await fixture.close() == 0)
  }
}
