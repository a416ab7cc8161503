import DemoUpstream
import Requests
import Session
import TestSupport
import Testing

@testable import Upstream

@Suite(.timeLimit(.minutes(1)))
struct DiscoveryTests {
  private let rfc = "/.well-known/oauth-authorization-server"
  private let openID = "/.well-known/openid-configuration"

  private func endpoints(
    _ fixture: UpstreamFixture, _ configured: OAuthEndpoints
  ) async -> Result<OAuthEndpoints, GrantFailure> {
    let discovery = Discovery(
      transport: fixture.transport, ground: fixture.loop, configured: configured)
    do throws(GrantFailure) {
      return .success(try await discovery.endpoints(deadline: fixture.later))
    } catch {
      return .failure(error)
    }
  }

  private func metadata(issuer: String, _ base: String) -> String {
    """
    {"issuer":"\(issuer)","token_endpoint":"\(base)/token","revocation_endpoint":"\(base)//revoke",
     "authorization_endpoint":"\(base)/authorize","device_authorization_endpoint":"not a url",
     "authorization_response_iss_parameter_supported":true,"x":[{}]}
    """
  }

  @Test(arguments: [
    ("https://as.example", "", ""), ("https://as.example/", "", ""),
    ("https://as.example/o/a", "/o/a", "/o/a"), ("https://AS.example:443/o/", "/o", "/o"),
  ])
  func `the documents stand where the two specifications put them`(
    issuer: String, suffix: String, prefix: String
  ) throws {
    #expect(
      try Discovery.documents(of: issuer) == [
        "https://as.example\(rfc)\(suffix)", "https://as.example\(prefix)\(openID)",
      ])
  }

  @Test(arguments: ["", "as.example", "https://as.example/?x=1", "https://as.example/#x"])
  func `what is no issuer is an error of the configuration`(issuer: String) {
    #expect(throws: GrantFailure.self) { _ = try Discovery.documents(of: issuer) }
  }

  @Test func `endpoints come from the metadata, those set by hand win`() async throws {
    let fixture = try UpstreamFixture()
    let base = fixture.upstream.baseURL
    fixture.upstream.always(.get, rfc + "/o", .json(metadata(issuer: base + "/o", base)))
    let configured = OAuthEndpoints(issuer: base + "/o", authorization: "http://127.0.0.1:1/a")
    var expected = OAuthEndpoints(
      issuer: base + "/o", token: base + "/token", authorization: "http://127.0.0.1:1/a",
      revocation: base + "//revoke")
    expected.promisesIssuer = true
    #expect(await endpoints(fixture, configured) == .success(expected))
    #expect(fixture.upstream.log.allSatisfy { $0.bearer == nil })
    #expect(await fixture.close() == 0)
  }

  @Test func `OpenID Connect's document is taken where the other is missing, and kept`()
    async throws
  {
    let fixture = try UpstreamFixture()
    let base = fixture.upstream.baseURL
    fixture.upstream.always(.get, rfc, .respond(status: 404))
    fixture.upstream.always(.get, openID, .json(metadata(issuer: base, base)))
    let discovery = Discovery(
      transport: fixture.transport, ground: fixture.loop, configured: OAuthEndpoints(issuer: base))
    for _ in 0..<3 {
      #expect(try await discovery.endpoints(deadline: fixture.later).token == base + "/token")
    }
    #expect(fixture.upstream.log.count == 2)
    await discovery.forget()
    _ = try await discovery.endpoints(deadline: fixture.later)
    #expect(fixture.upstream.log.count == 4)
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: ["/", "/o", "x"])
  func `another issuer's metadata is refused, down to a slash`(difference: String) async throws {
    let fixture = try UpstreamFixture()
    let base = fixture.upstream.baseURL
    fixture.upstream.always(.get, rfc, .json(metadata(issuer: base + difference, base)))
    guard case .failure(let failure) = await endpoints(fixture, OAuthEndpoints(issuer: base)) else {
      Issue.record("taken")
      return
    }
    #expect(failure.kind == .misconfigured)
    #expect(await fixture.close() == 0)
  }

  @Test func `a redirect of the metadata is not followed, an outage is not a misconfiguration`()
    async throws
  {
    let fixture = try UpstreamFixture()
    let base = fixture.upstream.baseURL
    for path in [rfc, openID] {
      fixture.upstream.script(.get, path, [.respond(status: 302, headers: [("Location", "/m")])])
    }
    fixture.upstream.always(.get, "/m", .json(metadata(issuer: base, base)))
    let configured = OAuthEndpoints(issuer: base)
    guard case .failure(let moved) = await endpoints(fixture, configured) else {
      Issue.record("followed")
      return
    }
    #expect(moved.kind == .misconfigured)
    #expect(fixture.upstream.requests("/m") == 0)
    fixture.upstream.script(.get, rfc, [.respond(status: 503)])
    guard case .failure(let away) = await endpoints(fixture, configured) else {
      Issue.record("taken")
      return
    }
    #expect(away.kind == .unavailable)
    #expect(await fixture.close() == 0)
  }

  @Test func `a refresh finds its endpoint by the issuer`() async throws {
    let fixture = try UpstreamFixture()
    let base = fixture.upstream.baseURL
    fixture.upstream.always(.get, rfc, .json(metadata(issuer: base, base)))
    let endpoint = try OAuth2TokenEndpoint(
      transport: fixture.transport, ground: fixture.loop, baseURL: base + "/api",
      discovery: Discovery(
        transport: fixture.transport, ground: fixture.loop, configured: OAuthEndpoints(issuer: base)
      ),
      client: OAuthClient(id: "brewlog"))
    let granted = try await endpoint.refresh(
      with: try UpstreamFixture.secret("dummy-refresh-0"), deadline: fixture.later)
    #expect(PlainTokens(granted).access == "dummy-access-1")
    #expect(endpoint.binding.issuer == base)
    #expect(endpoint.binding.apiOrigin == base)
    #expect(await fixture.close() == 0)
  }
}
