package import Execution
package import Requests
package import Secrets
package import Session

/// Sends one refresh and reads its answer; what both dialects share. Plain copies of tokens live
/// only from here to the wire and from the wire to here, and are wiped.
struct RefreshExchange: Sendable {
  let transport: any Transport
  let ground: any Ground
  let url: String
  let dialect: RefreshAnswer.Dialect

  /// `body` is wiped. On a connection of its own, following nothing: the request is sent once.
  func run(
    body: consuming [UInt8], fields: [HTTPField], credentials: consuming Secret?,
    deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    var request = HTTPRequest(
      method: .post, url: url, fields: [HTTPField("Accept", "application/json")] + fields,
      body: body, connection: .own, redirects: .returned, holdsSecrets: true, scheme: .basic)
    // `request` is now the only holder.
    body = []
    var response: HTTPResponse
    do throws(TransportError) {
      response = try await transport.send(request, bearer: credentials, deadline: deadline)
    } catch {
      wipe(&request.body)
      throw RefreshAnswer.failure(error)
    }
    wipe(&request.body)
    defer { wipe(&response.body) }
    guard response.status == 200 else {
      throw RefreshAnswer.failure(response, dialect: dialect, now: ground.wallTime)
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
  private let exchange: RefreshExchange

  /// `tokenEndpoint` nil: `{baseURL}/auth/refresh`. Throws where a URL cannot be used.
  package init(
    transport: any Transport, ground: any Ground, baseURL: String, tokenEndpoint: String? = nil
  ) throws(TransportError) {
    let base = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
    let url = tokenEndpoint ?? base + "/auth/refresh"
    let target = try RequestTarget(url)
    binding = UpstreamBinding(
      issuer: target.url, clientID: "", apiOrigin: try RequestTarget(baseURL).origin)
    exchange = RefreshExchange(transport: transport, ground: ground, url: url, dialect: .simple)
  }

  package func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    var body: [UInt8] = []
    var fields: [HTTPField] = []
    switch consume refreshToken {
    case .some(let token):
      body = SecretJSON.object("refreshToken", token)
      fields = [HTTPField("Content-Type", "application/json")]
    case .none: break
    }
    return try await exchange.run(
      body: body, fields: fields, credentials: nil, deadline: deadline)
  }
}

/// The refresh token grant of OAuth 2.0 (RFC 6749 section 6), with RFC 8707's `resource`.
package struct OAuth2TokenEndpoint: TokenEndpoint {
  package let binding: UpstreamBinding
  private let exchange: RefreshExchange
  private let client: OAuthClient
  private let scope: String?
  private let resource: String?

  /// `issuer` nil: the token endpoint stands for it in the binding. Throws where a URL cannot be
  /// used.
  package init(
    transport: any Transport, ground: any Ground, baseURL: String, tokenEndpoint: String,
    issuer: String? = nil, client: OAuthClient, scope: String? = nil, resource: String? = nil
  ) throws(TransportError) {
    let target = try RequestTarget(tokenEndpoint)
    binding = UpstreamBinding(
      issuer: issuer ?? target.url, clientID: client.id,
      apiOrigin: try RequestTarget(baseURL).origin)
    exchange = RefreshExchange(
      transport: transport, ground: ground, url: tokenEndpoint, dialect: .oauth2)
    self.client = client
    self.scope = scope
    self.resource = resource
  }

  package func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    let body: [UInt8]
    switch consume refreshToken {
    case .some(let token): body = form(token)
    case .none:
      throw RefreshFailure(.refused, reason: "there is no refresh token to send")
    }
    let credentials: Secret?
    do throws(SecretError) {
      credentials = try client.basicCredentials()
    } catch {
      throw RefreshFailure(.transient, reason: "no locked memory for the client's secret")
    }
    return try await exchange.run(
      body: body, fields: [HTTPField("Content-Type", "application/x-www-form-urlencoded")],
      credentials: credentials, deadline: deadline)
  }

  private func form(_ token: borrowing Secret) -> [UInt8] {
    var form = FormBody(
      capacity: token.count + client.formCapacity + (scope?.utf8.count ?? 0)
        + (resource?.utf8.count ?? 0))
    form.append("grant_type", "refresh_token")
    form.append("refresh_token", token)
    if let scope { form.append("scope", scope) }
    if let resource { form.append("resource", resource) }
    client.addToForm(&form)
    return form.take()
  }
}
