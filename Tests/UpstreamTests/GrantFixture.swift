import DemoUpstream
import Requests

@testable import Upstream

extension UpstreamFixture {
  /// A grant whose endpoints are all the scripted upstream's.
  func grant(
    _ client: OAuthClient = OAuthClient(id: "brewlog"), issuer: String? = nil,
    change: (inout OAuthEndpoints) -> Void = { _ in }
  ) -> TokenGrant {
    let base = upstream.baseURL
    var endpoints = OAuthEndpoints(
      token: base + "/token", authorization: base + "/authorize?tenant=1",
      deviceAuthorization: base + "/device", revocation: base + "/revoke")
    change(&endpoints)
    return TokenGrant(
      transport: transport, ground: loop,
      discovery: Discovery(transport: transport, ground: loop, configured: endpoints),
      client: client, scope: "tips", resource: "https://api.example/")
  }
}

/// The parameters of a URL's query, as the scripted upstream would read them.
func query(_ url: String) -> [String: String] {
  let parts = url.split(separator: "?", maxSplits: 1)
  guard parts.count == 2 else { return [:] }
  var fields: [String: String] = [:]
  for pair in parts[1].split(separator: "&") {
    let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    fields[String(halves[0])] = halves.count == 2 ? String(halves[1]) : ""
  }
  return fields
}
