package import Execution
package import Requests
import Secrets
import Session

/// What every grant of a sign-in needs: who asks, for what, and where.
package struct TokenGrant: Sendable {
  let request: ClientRequest
  let ground: any Ground
  let discovery: Discovery
  let scope: String?
  let resource: String?

  package init(
    transport: any Transport, ground: any Ground, discovery: Discovery, client: OAuthClient,
    scope: String? = nil, resource: String? = nil
  ) {
    request = ClientRequest(transport: transport, client: client)
    self.ground = ground
    self.discovery = discovery
    self.scope = scope
    self.resource = resource
  }

  /// Bounds what `addTarget` adds.
  var targetLength: Int { (scope?.utf8.count ?? 0) + (resource?.utf8.count ?? 0) }

  func addTarget(to form: inout FormBody) {
    if let scope { form.append("scope", scope) }
    if let resource { form.append("resource", resource) }
  }

  /// The endpoint, or an error that names what to set.
  func endpoint(
    _ pick: (OAuthEndpoints) -> String?, _ name: String, deadline: Instant
  ) async throws(GrantFailure) -> String {
    if let url = pick(try await discovery.endpoints(deadline: deadline)) { return url }
    throw GrantFailure(
      .misconfigured, reason: "there is no \(name): set it, or an issuer that names it")
  }

  /// A 200 of the token endpoint. Wipes the answer.
  static func tokens(
    _ response: consuming HTTPResponse
  ) throws(GrantFailure) -> GrantedTokens {
    defer { wipe(&response.body) }
    do throws(TokenReply.Malformed) {
      return try TokenReply.parse(response.body, names: .oauth2)
    } catch {
      throw GrantFailure(error)
    }
  }
}
