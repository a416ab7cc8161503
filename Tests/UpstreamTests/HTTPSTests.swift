import DemoUpstream
import Execution
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// A tip over HTTPS, from servers that are not ours, with an authority of the test's own.
@Suite(.timeLimit(.minutes(1)), .enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
struct HTTPSTests {
  /// The tip, or why there is none.
  private func tip(
    _ server: WebServer, host: String = "localhost", trusting authority: TestAuthority?
  ) async throws -> Result<TipEntry, TipError> {
    let bench = try await ServiceBench(base: "https://\(host):\(server.port)") {
      $0.caFile = authority?.certificate
    }
    let result = await bench.tip()
    #expect(await bench.requester.counters.retries == 0)
    #expect(await bench.close() == 0)
    return result
  }

  private func expect(_ result: Result<TipEntry, TipError>, says words: String...) {
    guard case .failure(.unavailable(let reason, nil, nil)) = result else {
      Issue.record("\(result)")
      return
    }
    for word in words { #expect(reason.contains(word), "\(reason)") }
  }

  @Test(.enabled(if: WebServer.hasPython, "python3 is not installed"))
  func `python serves a tip over HTTPS, and CAFile= says whom to trust`() async throws {
    let authority = try TestAuthority()
    let server = try WebServer.python(authority.issue(name: "localhost"))
    #expect(try await tip(server, trusting: authority).get().cached.tip.title == "Sealed")
    expect(
      try await tip(server, trusting: nil), says: "https://localhost:\(server.port)", "trust")
    expect(try await tip(server, trusting: TestAuthority()), says: "trust", "CAFile=")
  }

  @Test(.enabled(if: WebServer.hasPython, "python3 is not installed"))
  func `a certificate for another name is refused, and that is said`() async throws {
    let authority = try TestAuthority()
    let server = try WebServer.python(authority.issue(name: "localhost"))
    expect(try await tip(server, host: "127.0.0.1", trusting: authority), says: "another name")
  }

  @Test(.enabled(if: WebServer.hasPython, "python3 is not installed"))
  func `a certificate that has ended is refused, and that is said`() async throws {
    let authority = try TestAuthority()
    let server = try WebServer.python(authority.issue(name: "localhost", isExpired: true))
    expect(try await tip(server, trusting: authority), says: "expired")
  }

  @Test(.enabled(if: WebServer.hasPython, "python3 is not installed"))
  func `a CAFile= that is no certificate is refused, and that is said`() async throws {
    let authority = try TestAuthority()
    let server = try WebServer.python(authority.issue(name: "localhost"))
    try authority.write("nothing", to: "authority.pem")
    expect(try await tip(server, trusting: authority), says: "CAFile=")
  }

  @Test(.enabled(if: WebServer.hasNginx, "nginx is not installed (Debian: nginx-light)"))
  func `nginx serves tips over HTTP-2, all on one connection`() async throws {
    let authority = try TestAuthority()
    let server = try WebServer.nginx(authority.issue(name: "localhost"))
    let bench = try await ServiceBench(base: "https://localhost:\(server.port)") {
      $0.caFile = authority.certificate
    }
    for _ in 0..<3 { #expect(try await bench.tip().get().cached.tip.title == "Sealed") }
    #expect(await bench.close() == 0)
    // A line is written when its answer has gone.
    let lines = server.accessLog
    #expect(lines.count >= 2)
    for line in lines { #expect(line.hasPrefix("HTTP/2.0 TLSv1."), "\(line)") }
    #expect(Set(lines.map { $0.split(separator: " ")[2] }).count == 1)
  }

  /// B95
  @Test(.enabled(if: WebServer.hasNginx, "nginx is not installed (Debian: nginx-light)"))
  func `a redirect from https to http gets no token`() async throws {
    let authority = try TestAuthority()
    let other = try DemoUpstream()
    let server = try WebServer.nginx(
      authority.issue(name: "localhost"), redirect: other.baseURL)
    let fixture = try UpstreamFixture { $0.caFile = authority.certificate }
    let base = "https://localhost:\(server.port)"
    let tip = HTTPRequest(method: .get, url: base + "/moved/tips")
    #expect(await fixture.send(tip, bearer: "dummy-access-0").kind == .malformed)
    let endpoint = try OAuth2TokenEndpoint(
      transport: fixture.transport, ground: fixture.loop, baseURL: base,
      tokenEndpoint: base + "/moved/token", client: OAuthClient(id: "brewlog"))
    let failure = await #expect(throws: RefreshFailure.self) {
      _ = try await endpoint.refresh(
        with: UpstreamFixture.secret("dummy-refresh-0"), deadline: fixture.later)
    }
    #expect(failure?.kind == .transient)
    #expect(failure?.reason.contains("a redirect to \(other.baseURL),") == true)
    #expect(other.log.isEmpty)
    #expect(await fixture.close() == 0)
  }

  @Test(.enabled(if: WebServer.hasNginx, "nginx is not installed (Debian: nginx-light)"))
  func `many requests at once share HTTP-2's one connection`() async throws {
    let authority = try TestAuthority()
    let server = try WebServer.nginx(authority.issue(name: "localhost"))
    let fixture = try UpstreamFixture { $0.caFile = authority.certificate }
    let url = "https://localhost:\(server.port)/tips/today"
    #expect(await fixture.send(HTTPRequest(method: .get, url: url)).status == 200)
    await withTaskGroup(of: Int?.self) { group in
      for _ in 0..<20 {
        group.addTask { await fixture.send(HTTPRequest(method: .get, url: url)).status }
      }
      for await status in group { #expect(status == 200) }
    }
    #expect(await fixture.close() == 0)
    #expect(Set(server.accessLog.map { $0.split(separator: " ")[2] }).count == 1)
  }
}
