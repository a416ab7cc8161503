package import Execution
package import Requests
package import Secrets
package import Session

/// Reads the answer to one refresh; what both dialects share. Plain copies of tokens live only from
/// the wire to here, and are wiped.
enum RefreshExchange {
  static func read(
    _ response: consuming HTTPResponse, dialect: RefreshAnswer.Dialect, now: WallTime
  ) throws(RefreshFailure) -> GrantedTokens {
    defer { wipe(&response.body) }
    guard response.status == 200 else {
      throw RefreshAnswer.failure(response, dialect: dialect, now: now)
    }
    do throws(TokenReply.Malformed) {
      return try TokenReply.parse(response.body, names: dialect == .simple ? .simple : .oauth2)
    } catch {
      throw RefreshAnswer.malformed(error)
    }
  }
}

/// The refresh of the dialect `simple`: one token in, one or two out, in JSON.
package struct SimpleTokenEndpoint: TokenEndpoint {
  package let binding: UpstreamBinding
  private let transport: any Transport
  private let ground: any Ground
  private let url: String

  /// `tokenEndpoint` nil: `{baseURL}/auth/refresh`. Throws where a URL cannot be used.
  package init(
    transport: any Transport, ground: any Ground, baseURL: String, tokenEndpoint: String? = nil
  ) throws(TransportError) {
    let base = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
    url = tokenEndpoint ?? base + "/auth/refresh"
    binding = UpstreamBinding(
      issuer: try RequestTarget(url).url, clientID: "",
      apiOrigin: try RequestTarget(baseURL).origin)
    self.transport = transport
    self.ground = ground
  }

  package func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    var request = HTTPRequest(method: .post, url: url)
    switch consume refreshToken {
    case .some(let token):
      request.body = SecretJSON.object("refreshToken", token)
      request.fields = [HTTPField("Content-Type", "application/json")]
    case .none: break
    }
    let response: HTTPResponse
    do throws(TransportError) {
      response = try await SecretPost.send(
        request, credentials: nil, over: transport, deadline: deadline)
    } catch {
      throw RefreshAnswer.failure(error)
    }
    return try RefreshExchange.read(response, dialect: .simple, now: ground.wallTime)
  }
}

/// The refresh token grant of OAuth 2.0 (RFC 6749 section 6), with RFC 8707's `resource`.
package struct OAuth2TokenEndpoint: TokenEndpoint {
  package let binding: UpstreamBinding
  private let ground: any Ground
  private let discovery: Discovery
  private let request: ClientRequest
  private let scope: String?
  private let resource: String?

  /// With the endpoint that `discovery` finds; one that is set by hand is used as it is. Throws
  /// where a URL cannot be used, or where neither issuer nor token endpoint is set.
  package init(
    transport: any Transport, ground: any Ground, baseURL: String, discovery: Discovery,
    client: OAuthClient, scope: String? = nil, resource: String? = nil
  ) throws(TransportError) {
    let configured = discovery.configured
    guard let issuer = configured.issuer ?? configured.token else {
      throw TransportError(.invalidURL, reason: "neither an issuer nor a token endpoint is set")
    }
    if let token = configured.token { _ = try RequestTarget(token) }
    _ = try RequestTarget(issuer)
    binding = UpstreamBinding(
      issuer: issuer, clientID: client.id, apiOrigin: try RequestTarget(baseURL).origin)
    self.ground = ground
    self.discovery = discovery
    request = ClientRequest(transport: transport, client: client)
    self.scope = scope
    self.resource = resource
  }

  /// With a token endpoint that is set by hand; nothing is discovered. `issuer` nil: the endpoint
  /// stands for it in the binding.
  package init(
    transport: any Transport, ground: any Ground, baseURL: String, tokenEndpoint: String,
    issuer: String? = nil, client: OAuthClient, scope: String? = nil, resource: String? = nil
  ) throws(TransportError) {
    try self.init(
      transport: transport, ground: ground, baseURL: baseURL,
      discovery: Discovery(
        transport: transport, ground: ground,
        configured: OAuthEndpoints(issuer: issuer, token: tokenEndpoint)),
      client: client, scope: scope, resource: resource)
  }

  package func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    switch consume refreshToken {
    case .none: throw RefreshFailure(.refused, reason: "there is no refresh token to send")
    case .some(let token):
      let url = try await tokenEndpoint(deadline)
      var form = request.form(
        grantType: "refresh_token",
        values: token.count + (scope?.utf8.count ?? 0) + (resource?.utf8.count ?? 0))
      form.append("refresh_token", token)
      if let scope { form.append("scope", scope) }
      if let resource { form.append("resource", resource) }
      let response: HTTPResponse
      do throws(TransportError) {
        response = try await request.post(form, to: url, deadline: deadline)
      } catch {
        throw RefreshAnswer.failure(error)
      }
      // Maybe it has moved; the next try looks it up again.
      if response.status == 404 || response.status == 410 { await discovery.forget() }
      return try RefreshExchange.read(response, dialect: .oauth2, now: ground.wallTime)
    }
  }

  private func tokenEndpoint(_ deadline: Instant) async throws(RefreshFailure) -> String {
    if let url = discovery.configured.token { return url }
    do throws(GrantFailure) {
      if let url = try await discovery.endpoints(deadline: deadline).token { return url }
    } catch {
      let kind: RefreshFailure.Kind =
        switch error.kind {
        case .misconfigured: .misconfigured
        case .cancelled: .cancelled
        case .denied, .expired, .unavailable, .malformed: .transient
        }
      throw RefreshFailure(kind, reason: error.reason)
    }
    throw RefreshFailure(
      .misconfigured, reason: "the issuer's metadata names no usable token endpoint")
  }
}
