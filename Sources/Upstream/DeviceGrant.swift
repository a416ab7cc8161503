package import Execution
import JSON
import Requests
import Secrets
package import Session

/// What a person is shown to sign in on another device (RFC 8628 section 3.3). Both addresses are
/// `http` or `https`, of visible ASCII; the code is sanitised.
package struct DevicePrompt: Equatable, Sendable {
  package var verificationURI: String
  package var verificationURIComplete: String?
  package var userCode: String
}

/// One attempt of the device flow, as the server has granted it.
package struct DeviceAuthorization: ~Copyable, Sendable {
  package let prompt: DevicePrompt
  /// When the codes end; counted here, since servers forget to say so.
  package let expiresAt: Instant
  let deviceCode: Secret
  let interval: Duration
}

/// How the next poll follows from the last answer (RFC 8628 section 3.5).
struct DevicePollPolicy: Equatable {
  private(set) var interval: Duration

  static let longest = Duration.seconds(60)

  enum Next: Equatable {
    case granted
    case again
    case over(GrantFailure)
  }

  init(interval: Duration) {
    self.interval = interval
  }

  /// After an answer.
  mutating func take(_ response: HTTPResponse) -> Next {
    if response.status == 200 { return .granted }
    let failure = GrantFailure(response, from: "token endpoint")
    switch failure.upstreamError {
    case "authorization_pending": return .again
    case "slow_down":
      interval += .seconds(5)
      return .again
    default: return failure.kind == .unavailable ? backOff() : .over(failure)
    }
  }

  /// After no answer.
  mutating func take(_ error: TransportError) -> Next {
    switch error.kind {
    case .unreachable, .lost: backOff()
    case .forbidden, .malformed, .invalidURL, .cancelled: .over(GrantFailure(error))
    }
  }

  private mutating func backOff() -> Next {
    interval = max(interval, min(interval * 2, DevicePollPolicy.longest))
    return .again
  }
}

/// The device authorization grant, RFC 8628: a code that a person enters in any browser.
package struct DeviceGrant: Sendable {
  private let grant: TokenGrant
  private let sleeper: Sleeper
  /// For one poll.
  private let pollTimeout: Duration

  /// Longer than this no attempt is kept open, whatever the server says.
  private static let longestLifetime = Duration.seconds(3600)

  package init(grant: TokenGrant, pollTimeout: Duration = .seconds(30)) {
    self.grant = grant
    self.pollTimeout = pollTimeout
    sleeper = Sleeper(ground: grant.ground)
  }

  /// Asks for a pair of codes.
  package func begin(deadline: Instant) async throws(GrantFailure) -> DeviceAuthorization {
    let url = try await grant.endpoint(
      { $0.deviceAuthorization }, "device authorization endpoint", deadline: deadline)
    var form = grant.request.form(
      grantType: nil, values: grant.targetLength + grant.request.client.id.utf8.count)
    // Section 3.1 wants the id in the form, also where the client shows it in a header.
    if grant.request.client.authentication == .basic {
      form.append("client_id", grant.request.client.id)
    }
    grant.addTarget(to: &form)
    var response: HTTPResponse
    do throws(TransportError) {
      response = try await grant.request.post(form, to: url, deadline: deadline)
    } catch {
      throw GrantFailure(error)
    }
    defer { wipe(&response.body) }
    guard response.status == 200 else {
      throw GrantFailure(response, from: "device authorization endpoint")
    }
    return try DeviceGrant.read(response.body, now: grant.ground.now)
  }

  /// Polls until the person has decided or the codes have ended. A cancelled task stops it.
  package func wait(
    for authorization: borrowing DeviceAuthorization
  ) async throws(GrantFailure) -> GrantedTokens {
    let deadline = authorization.expiresAt
    let url = try await grant.endpoint({ $0.token }, "token endpoint", deadline: deadline)
    var policy = DevicePollPolicy(interval: authorization.interval)
    while true {
      let next = grant.ground.now.advanced(by: policy.interval)
      guard next < deadline else {
        // Nothing more will be asked, but the person still sees a code that is good.
        if await sleeper.sleep(until: deadline) { throw DeviceGrant.expired }
        throw DeviceGrant.cancelled
      }
      guard await sleeper.sleep(until: next) else { throw DeviceGrant.cancelled }
      let until = min(deadline, grant.ground.now.advanced(by: pollTimeout))
      let outcome: DevicePollPolicy.Next
      switch await poll(authorization.deviceCode, at: url, deadline: until) {
      case .success(let response):
        outcome = policy.take(response)
        if outcome == .granted { return try TokenGrant.tokens(response) }
      case .failure(let error): outcome = policy.take(error)
      }
      if case .over(let failure) = outcome { throw failure }
    }
  }

  private static let expired = GrantFailure(
    .expired, reason: "nobody entered the code in time; sign in again", upstreamError: nil)
  private static let cancelled = GrantFailure(.cancelled, reason: "the sign-in was cancelled")

  private func poll(
    _ code: borrowing Secret, at url: String, deadline: Instant
  ) async -> Result<HTTPResponse, TransportError> {
    var form = grant.request.form(
      grantType: "urn:ietf:params:oauth:grant-type:device_code", values: code.count)
    form.append("device_code", code)
    do throws(TransportError) {
      return .success(try await grant.request.post(form, to: url, deadline: deadline))
    } catch {
      return .failure(error)
    }
  }

  /// Section 3.2. `verification_url` is what some servers called it before the RFC.
  static func read(_ body: [UInt8], now: Instant) throws(GrantFailure) -> DeviceAuthorization {
    guard let members = JSONMembers(body) else {
      throw malformed("no JSON object")
    }
    func text(_ name: String) -> String? {
      guard case .string(let range)? = members.values[name] else { return nil }
      return JSONMembers.text(body, range)
    }
    func usable(_ url: String?) -> String? {
      url.flatMap { $0.utf8.count <= 2000 && (try? RequestTarget($0)) != nil ? $0 : nil }
    }
    guard let address = usable(text("verification_uri") ?? text("verification_url")) else {
      throw malformed("no usable verification_uri")
    }
    guard let code = text("user_code"), !code.isEmpty else { throw malformed("no user_code") }
    guard case .string(let range)? = members.values["device_code"],
      var plain = JSONMembers.unescaped(body, range), !plain.isEmpty
    else { throw malformed("no device_code") }
    defer { wipe(&plain) }
    guard let secret = try? Secret(copying: plain) else {
      throw GrantFailure(.unavailable, reason: "no locked memory for a code")
    }
    let lifetime = TokenReply.lifetime(members.values["expires_in"], body) ?? longestLifetime
    let interval = TokenReply.lifetime(members.values["interval"], body) ?? .seconds(5)
    return DeviceAuthorization(
      prompt: DevicePrompt(
        verificationURI: address,
        verificationURIComplete: usable(text("verification_uri_complete")),
        userCode: TextSanitizer.clean(code, limit: 100)),
      expiresAt: now.advanced(by: min(lifetime, longestLifetime)), deviceCode: secret,
      interval: interval)
  }

  private static func malformed(_ what: String) -> GrantFailure {
    GrantFailure(.malformed, reason: "the device authorization endpoint's answer has \(what)")
  }
}
