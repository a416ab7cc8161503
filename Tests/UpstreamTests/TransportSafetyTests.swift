import DemoUpstream
import Glibc
import Requests
import TestSupport
import Testing

@testable import Upstream

/// Where a token must never go, and what must never be sent.
@Suite(.timeLimit(.minutes(1)))
struct TransportSafetyTests {
  @Test(arguments: [301, 302, 303, 307, 308])
  func `a redirect within the origin is followed with the token`(status: Int) async throws {
    let fixture = try UpstreamFixture()
    let (base, port) = (fixture.upstream.baseURL, fixture.upstream.port)
    for (index, location) in ["/b", "c?x=1", "\(base)/d", "//127.0.0.1:\(port)/e"].enumerated() {
      fixture.upstream.always(
        .get, "/" + ["a", "b", "c", "d"][index],
        .respond(status: status, headers: [("Location", location)]))
    }
    fixture.upstream.always(.get, "/e", .json("{}"))
    #expect(await fixture.get("/a", bearer: "dummy-access-0").status == 200)
    #expect(fixture.upstream.log.map(\.path) == ["/a", "/b", "/c", "/d", "/e"])
    #expect(fixture.upstream.log.allSatisfy { $0.bearer == "access-0" })
    #expect(await fixture.close() == 0)
  }

  @Test func `a redirect to another origin is named and not followed`() async throws {
    let fixture = try UpstreamFixture()
    let other = try DemoUpstream()
    for location in [
      other.baseURL + "/b", "http://localhost:\(fixture.upstream.port)/b", "https://127.0.0.1/b",
      "http://user:pass@127.0.0.1:\(fixture.upstream.port)/b", "ftp://127.0.0.1/b", "file:///b",
      "http://", "http://[::bad/",
    ] {
      fixture.upstream.script(
        .get, "/a", [.respond(status: 302, headers: [("Location", location)])])
      let result = await fixture.get("/a", bearer: "dummy-access-0")
      #expect(result.kind == .malformed, "\(location)")
      #expect(!result.reason.contains("pass"))
    }
    #expect(other.log.isEmpty)
    #expect(fixture.upstream.requests("/b") == 0)
    #expect(await fixture.close() == 0)
  }

  @Test func `five redirects are followed, not six`() async throws {
    let fixture = try UpstreamFixture()
    let step = Step.respond(status: 302, headers: [("Location", "/a")])
    fixture.upstream.script(.get, "/a", step.times(5) + [.json("{}")])
    #expect(await fixture.get("/a").status == 200)
    fixture.upstream.clearLog()
    fixture.upstream.always(.get, "/a", step)
    #expect(await fixture.get("/a").kind == .malformed)
    #expect(fixture.upstream.requests("/a") == 6)
    #expect(await fixture.close() == 0)
  }

  @Test func `a redirect of a POST is the answer`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.post, "/a", .respond(status: 307, headers: [("Location", "/b")]))
    let request = HTTPRequest(method: .post, url: fixture.upstream.baseURL + "/a", body: [0x61])
    #expect(await fixture.send(request).status == 307)
    #expect(fixture.upstream.log.count == 1)
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [
    HTTPField("X", "a\r\nInjected: yes"), HTTPField("X", "a\nb"), HTTPField("X", "a\0b"),
    HTTPField("X\r\nY", "a"), HTTPField("X Y", "a"), HTTPField("", "a"), HTTPField("X:", "a"),
    HTTPField("Authorization", "Bearer dummy"), HTTPField("hOsT", "other"),
    HTTPField("Content-Length", "0"), HTTPField("Transfer-Encoding", "chunked"),
    HTTPField("Cookie", "a=b"),
  ])
  func `a header cannot bring in another`(field: HTTPField) async throws {
    let fixture = try UpstreamFixture()
    #expect(await fixture.get("/x", fields: [field]).kind == .invalidURL)
    #expect(fixture.upstream.log.isEmpty)
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: ["", "a b", "a\r\nX: y", "a\0b", "ä"])
  func `a token that cannot stand in a header is not sent`(token: String) async throws {
    let fixture = try UpstreamFixture()
    let result = await fixture.get("/x", bearer: token)
    #expect(result.kind == .invalidURL)
    #expect(fixture.upstream.log.isEmpty)
    #expect(await fixture.close() == 0)
  }

  @Test func `cleartext leaves the host only where it is allowed, judged by the address`()
    async throws
  {
    let strict = try UpstreamFixture { $0.isLoopback = { _ in false } }
    let url = "http://localhost:\(strict.upstream.port)/tips/today"
    let request = HTTPRequest(method: .get, url: url)
    let result = await strict.send(request, bearer: "dummy-access-0")
    #expect(result.kind == .forbidden)
    #expect(result.reason.contains("AllowCleartext"))
    #expect(strict.upstream.log.isEmpty)
    // The next one finds the same, whatever became of the connection.
    #expect(await strict.send(request, bearer: "dummy-access-0").kind == .forbidden)
    #expect(strict.upstream.log.isEmpty)
    #expect(await strict.close() == 0)

    let allowed = try UpstreamFixture {
      $0.isLoopback = { _ in false }
      $0.allowCleartext = true
    }
    #expect(await allowed.get("/tips/today", bearer: "dummy-access-0").status == 200)
    #expect(await allowed.close() == 0)
  }

  @Test(arguments: ["http://192.0.2.1/x", "http://[2001:db8::1]/x", "http://0x7f000002.1/x"])
  func `cleartext to an address elsewhere is refused without a connection`(url: String) async throws
  {
    let fixture = try UpstreamFixture()
    let kind = await fixture.send(HTTPRequest(method: .get, url: url)).kind
    #expect(kind == .forbidden || kind == .invalidURL || kind == .unreachable)
    #expect(await fixture.close() == 0)
  }

  @Test func `loopback is never reached through a proxy`() async throws {
    let proxy = try DemoUpstream()
    let fixture = try UpstreamFixture { $0.proxy = proxy.baseURL }
    #expect(await fixture.get("/tips/today", bearer: "dummy-access-0").status == 200)
    #expect(proxy.log.isEmpty)
    #expect(await fixture.close() == 0)
  }

  @Test func `cleartext elsewhere goes through the proxy only where cleartext is allowed`()
    async throws
  {
    let proxy = try DemoUpstream()
    let open = try UpstreamFixture {
      $0.proxy = proxy.baseURL
      $0.allowCleartext = true
    }
    let request = HTTPRequest(method: .get, url: "http://192.0.2.1/x")
    _ = await open.send(request)
    #expect(proxy.log.count == 1)
    #expect(await open.close() == 0)
    let strict = try UpstreamFixture { $0.proxy = proxy.baseURL }
    #expect(await strict.send(request).kind == .forbidden)
    #expect(proxy.log.count == 1)
    #expect(await strict.close() == 0)
  }

  /// In a process of its own, since the environment belongs to all threads.
  @Test func `without Proxy= the environment names the proxy, and who needs none`() async {
    await #expect(processExitsWith: .success) {
      let proxy = try DemoUpstream()
      setenv("http_proxy", proxy.baseURL, 1)
      setenv("no_proxy", "192.0.2.2", 1)
      let fixture = try UpstreamFixture {
        $0.allowCleartext = true
        $0.connectTimeout = .milliseconds(200)
      }
      _ = await fixture.send(HTTPRequest(method: .get, url: "http://192.0.2.1/x"))
      try #require(proxy.log.count == 1)
      _ = await fixture.send(HTTPRequest(method: .get, url: "http://192.0.2.2/x"))
      try #require(await fixture.get("/tips/today", bearer: "dummy-access-0").status == 200)
      try #require(proxy.log.count == 1)
      // What the configuration names wins.
      let other = try DemoUpstream()
      let configured = try UpstreamFixture {
        $0.allowCleartext = true
        $0.proxy = other.baseURL
      }
      _ = await configured.send(HTTPRequest(method: .get, url: "http://192.0.2.1/x"))
      try #require(proxy.log.count == 1 && other.log.count == 1)
    }
  }

  @Test func `https to a server without TLS is forbidden and sends nothing`() async throws {
    let fixture = try UpstreamFixture()
    let request = HTTPRequest(method: .get, url: "https://127.0.0.1:\(fixture.upstream.port)/x")
    #expect(await fixture.send(request, bearer: "dummy-access-0").kind == .forbidden)
    #expect(fixture.upstream.log.isEmpty)
    #expect(await fixture.close() == 0)
  }

  @Test func `a GET is not sent again when its kept connection dies`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.script(.get, "/x", [.json("{}"), .drop, .json("{}")])
    #expect(await fixture.get("/x").status == 200)
    #expect(await fixture.get("/x").kind == .lost)
    #expect(fixture.upstream.requests("/x") == 2)
    #expect(await fixture.get("/x").status == 200)
    #expect(await fixture.close() == 0)
  }
}
