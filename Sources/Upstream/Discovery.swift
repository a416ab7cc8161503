package import Execution
import JSON
package import Requests

/// Where an authorization server's endpoints are.
package struct OAuthEndpoints: Equatable, Sendable {
  package var issuer: String?
  package var token: String?
  package var authorization: String?
  package var deviceAuthorization: String?
  package var revocation: String?
  /// Whether every redirect of this server carries `iss` (RFC 9207 section 3).
  package var promisesIssuer = false

  package init(
    issuer: String? = nil, token: String? = nil, authorization: String? = nil,
    deviceAuthorization: String? = nil, revocation: String? = nil
  ) {
    self.issuer = issuer
    self.token = token
    self.authorization = authorization
    self.deviceAuthorization = deviceAuthorization
    self.revocation = revocation
  }
}

/// Finds the endpoints: those set by hand, and the rest in the issuer's metadata (RFC 8414, or
/// OpenID Connect Discovery 1.0 where there is none). The metadata is fetched when first needed and
/// kept; requests to it follow no redirect and carry no token.
package actor Discovery {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  private let ground: any Ground
  private let transport: any Transport
  /// What the configuration says; it wins over the metadata, endpoint by endpoint.
  package nonisolated let configured: OAuthEndpoints
  private var found: OAuthEndpoints?

  package init(transport: any Transport, ground: any Ground, configured: OAuthEndpoints) {
    self.transport = transport
    self.ground = ground
    self.configured = configured
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  /// Throws where the metadata is needed and cannot be had, or is another issuer's.
  package func endpoints(deadline: Instant) async throws(GrantFailure) -> OAuthEndpoints {
    guard let issuer = configured.issuer else { return configured }
    if let found { return found }
    let metadata = try await fetch(issuer, deadline)
    var merged = configured
    merged.token = configured.token ?? metadata.token
    merged.authorization = configured.authorization ?? metadata.authorization
    merged.deviceAuthorization = configured.deviceAuthorization ?? metadata.deviceAuthorization
    merged.revocation = configured.revocation ?? metadata.revocation
    merged.promisesIssuer = metadata.promisesIssuer
    found = merged
    return merged
  }

  /// The next call fetches the metadata again: an endpoint was not where it is said to be.
  package func forget() {
    found = nil
  }

  private func fetch(
    _ issuer: String, _ deadline: Instant
  ) async throws(GrantFailure) -> OAuthEndpoints {
    var last = GrantFailure(.misconfigured, reason: "the issuer's URL cannot be used")
    for url in try Discovery.documents(of: issuer) {
      let response: HTTPResponse
      do throws(TransportError) {
        response = try await transport.send(
          HTTPRequest(
            method: .get, url: url, fields: [HTTPField("Accept", "application/json")],
            redirects: .returned),
          bearer: nil, deadline: deadline)
      } catch {
        throw GrantFailure(error)
      }
      if response.status == 200, let members = JSONMembers(response.body) {
        return try Discovery.read(members, response.body, issuer: issuer)
      }
      let failure = GrantFailure(response, from: "issuer's metadata document")
      // The server is there and has trouble: the other document will not be any better.
      if failure.kind == .unavailable { throw failure }
      last = failure
    }
    throw last
  }

  /// RFC 8414 section 3.1 puts the well-known part between host and path, OpenID Connect behind.
  static func documents(of issuer: String) throws(GrantFailure) -> [String] {
    let target: RequestTarget
    do throws(TransportError) {
      target = try RequestTarget(issuer)
    } catch {
      throw GrantFailure(.misconfigured, reason: "the issuer is \(error.reason)")
    }
    guard !issuer.contains("?"), !issuer.contains("#") else {
      throw GrantFailure(.misconfigured, reason: "an issuer has no query and no fragment")
    }
    // Both parts of the issuer as they were written.
    let afterScheme = issuer.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard afterScheme.count == 3 else {
      throw GrantFailure(.misconfigured, reason: "the issuer is a URL that cannot be read")
    }
    var path = afterScheme[2].drop { $0 != "/" }
    while path.hasSuffix("/") { path.removeLast() }
    return [
      "\(target.origin)/.well-known/oauth-authorization-server\(path)",
      "\(target.origin)\(path)/.well-known/openid-configuration",
    ]
  }

  private static func read(
    _ members: JSONMembers, _ body: [UInt8], issuer: String
  ) throws(GrantFailure) -> OAuthEndpoints {
    func text(_ name: String) -> String? {
      guard case .string(let range)? = members.values[name] else { return nil }
      return JSONMembers.text(body, range)
    }
    guard text("issuer") == issuer else {
      throw GrantFailure(
        .misconfigured,
        reason: "the metadata names another issuer than Issuer= does; both must be the same text")
    }
    // What cannot be a request's target is as good as absent.
    func url(_ name: String) -> String? {
      text(name).flatMap { (try? RequestTarget($0)) == nil ? nil : $0 }
    }
    var endpoints = OAuthEndpoints(
      issuer: issuer, token: url("token_endpoint"), authorization: url("authorization_endpoint"),
      deviceAuthorization: url("device_authorization_endpoint"),
      revocation: url("revocation_endpoint"))
    endpoints.promisesIssuer =
      members.values["authorization_response_iss_parameter_supported"] == .bool(true)
    return endpoints
  }
}
