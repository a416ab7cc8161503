package import Execution
import Requests
package import Secrets
package import Session

/// One attempt to sign in by a browser: what was made up for it, and where the browser goes.
package struct AuthorizationAttempt: ~Copyable, Sendable {
  package let authorizeURI: String
  package let redirectURI: String
  let state: String
  let verifier: Secret
  let endpoints: OAuthEndpoints

  /// Whether an address is this attempt's answer, good or bad. Others are not to end it.
  package var isAnswer: @Sendable (_ redirectedTo: String) -> Bool {
    let (state, redirectURI) = (state, redirectURI)
    return { address in
      guard let answer = RedirectAnswer(address, redirectURI: redirectURI) else { return false }
      return answer["state"] == state
    }
  }
}

/// The authorization code grant with PKCE (RFC 6749 section 4.1, RFC 7636, RFC 9207, RFC 8252).
package struct AuthorizationCodeGrant: Sendable {
  private let grant: TokenGrant
  private let entropy: Entropy

  package init(grant: TokenGrant, entropy: Entropy = .system) {
    self.grant = grant
    self.entropy = entropy
  }

  /// Makes up state and verifier. `redirectURI` is where the browser is sent back to.
  package func begin(
    redirectURI: String, deadline: Instant
  ) async throws(GrantFailure) -> AuthorizationAttempt {
    let endpoint = try await grant.endpoint(
      { $0.authorization }, "authorization endpoint", deadline: deadline)
    _ = try await grant.endpoint({ $0.token }, "token endpoint", deadline: deadline)
    guard !endpoint.contains("#") else {
      throw GrantFailure(.misconfigured, reason: "the authorization endpoint has a fragment")
    }
    let state = String(decoding: Base64.encodeForURL(entropy.bytes(32)), as: UTF8.self)
    let verifier = try makeVerifier()
    let challenge = verifier.withBytes { Base64.encodeForURL(SHA256.hash($0)) }
    var form = FormBody(capacity: 1024)
    form.append("response_type", "code")
    form.append("client_id", grant.request.client.id)
    form.append("redirect_uri", redirectURI)
    form.append("state", state)
    form.append("code_challenge", String(decoding: challenge, as: UTF8.self))
    form.append("code_challenge_method", "S256")
    grant.addTarget(to: &form)
    let query = String(decoding: form.take(), as: UTF8.self)
    return AuthorizationAttempt(
      authorizeURI: endpoint + (endpoint.contains("?") ? "&" : "?") + query,
      redirectURI: redirectURI, state: state, verifier: verifier,
      endpoints: try await grant.discovery.endpoints(deadline: deadline))
  }

  /// The code that the browser brought back. An address that is not this attempt's is refused, and
  /// the attempt stays as it is.
  package func code(
    from redirectedTo: String, for attempt: borrowing AuthorizationAttempt
  ) throws(GrantFailure) -> Secret {
    guard let answer = RedirectAnswer(redirectedTo, redirectURI: attempt.redirectURI) else {
      throw GrantFailure(
        .malformed, reason: "that is not an address that the browser was to be sent back to")
    }
    guard answer["state"] == attempt.state else {
      throw GrantFailure(.malformed, reason: "that address belongs to another sign-in")
    }
    // RFC 9207 section 2.4: the answer may come from a server that was mixed in.
    if let issuer = attempt.endpoints.issuer {
      let named = answer["iss"]
      guard named == issuer || (named == nil && !attempt.endpoints.promisesIssuer) else {
        throw GrantFailure(.malformed, reason: "the answer came from another issuer")
      }
    }
    if let error = answer["error"] { throw GrantFailure(redirectError: error) }
    guard let code = answer["code"], !code.isEmpty,
      let secret = try? Secret(copying: Array(code.utf8))
    else { throw GrantFailure(.malformed, reason: "the answer holds no code") }
    return secret
  }

  /// Exchanges the code, once.
  package func exchange(
    _ code: consuming Secret, for attempt: consuming AuthorizationAttempt, deadline: Instant
  ) async throws(GrantFailure) -> GrantedTokens {
    guard let url = attempt.endpoints.token else {
      throw GrantFailure(.misconfigured, reason: "there is no token endpoint")
    }
    var form = grant.request.form(
      grantType: "authorization_code",
      values: code.count + attempt.redirectURI.utf8.count + attempt.verifier.count
        + grant.targetLength)
    form.append("code", code)
    form.append("redirect_uri", attempt.redirectURI)
    form.append("code_verifier", attempt.verifier)
    if let resource = grant.resource { form.append("resource", resource) }
    let response: HTTPResponse
    do throws(TransportError) {
      response = try await grant.request.post(form, to: url, deadline: deadline)
    } catch {
      throw GrantFailure(error)
    }
    guard response.status == 200 else {
      throw GrantFailure(response, from: "token endpoint")
    }
    return try TokenGrant.tokens(response)
  }

  /// RFC 7636 section 4.1: 43 characters from 32 random bytes.
  private func makeVerifier() throws(GrantFailure) -> Secret {
    var random = entropy.bytes(32)
    var text = Base64.encodeForURL(random)
    defer {
      wipe(&random)
      wipe(&text)
    }
    guard let verifier = try? Secret(copying: text) else {
      throw GrantFailure(.unavailable, reason: "no locked memory for a sign-in")
    }
    return verifier
  }
}

/// The parameters of an address that a browser was sent back to.
struct RedirectAnswer {
  private let parameters: [String: String]

  /// Nil unless the address is `redirectURI` with a query in which no name comes twice.
  init?(_ address: String, redirectURI: String) {
    guard address.utf8.count <= 16_384 else { return nil }
    let whole = address.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
    let parts = whole.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == redirectURI else { return nil }
    var parameters: [String: String] = [:]
    for pair in parts[1].split(separator: "&") {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = RedirectAnswer.decode(halves[0]),
        let value = RedirectAnswer.decode(halves.count == 2 ? halves[1] : ""),
        parameters.updateValue(value, forKey: name) == nil
      else { return nil }
    }
    self.parameters = parameters
  }

  subscript(name: String) -> String? { parameters[name] }

  private static func decode(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(0x20)
      case UInt8(ascii: "%"):
        let digits = rest.prefix(2)
        guard digits.count == 2, digits.allSatisfy({ UInt8(ascii: "+") != $0 }),
          let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        bytes.append(value)
        rest = rest.dropFirst(2)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
