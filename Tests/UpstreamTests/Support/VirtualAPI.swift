import Execution
import Platform
import Requests
import Secrets
import TestSupport

/// An API and its authorization server in virtual time. It is strict: each refresh token works once.
/// What it does otherwise a test puts before it.
final class VirtualAPI: Transport {
  static let base = "https://api.example.test"

  struct Sent: Sendable {
    var at: Instant
    var path: String
    var token: String?
    var fields: [HTTPField]
    /// The parameters of a form.
    var form: [String: String]
    var isToken: Bool { path == "/token" || path == "/auth/refresh" }
  }

  enum Reply: Sendable {
    /// What a good server does.
    case normal
    case response(HTTPResponse)
    case failure(TransportError.Kind)
    /// Nothing until the deadline.
    case silence
    /// The same after a time.
    indirect case later(Duration, Reply)

    static func json(
      _ body: String, status: Int = 200, _ fields: [HTTPField] = []
    ) -> Reply {
      .response(HTTPResponse(status: status, fields: fields, body: Array(body.utf8)))
    }

    static func status(_ status: Int, _ fields: [HTTPField] = []) -> Reply {
      .json("", status: status, fields)
    }
  }

  private struct State {
    var sent: [Sent] = []
    var script: @Sendable (Sent) -> Reply = { _ in .normal }
    var refresh = "dummy-refresh-0"
    var access: Set<String> = ["dummy-access-0"]
    var issued = 0
    var open = 0
    var mostOpen = 0
    var extra = ""
    var lifetime: String? = "3600"
  }

  private let ground: ManualGround
  private let sleeper: Sleeper
  private let state = Locked(State())

  init(ground: ManualGround) {
    self.ground = ground
    sleeper = Sleeper(ground: ground)
  }

  // MARK: What a test says

  func script(_ body: @escaping @Sendable (Sent) -> Reply) { state.withLock { $0.script = body } }

  /// The token endpoint's answers, one after the other, the last for ever; tips are served.
  func answerRefreshes(_ replies: Reply...) {
    let place = Locked(0)
    script { sent in
      guard sent.isToken else { return .normal }
      return place.withLock { index in
        defer { index += 1 }
        return replies[min(index, replies.count - 1)]
      }
    }
  }

  /// The same for tips.
  func answerTips(_ replies: Reply...) {
    let place = Locked(0)
    script { sent in
      if sent.isToken { return .normal }
      return place.withLock { index in
        defer { index += 1 }
        return replies[min(index, replies.count - 1)]
      }
    }
  }

  /// What a refresh says of its lifetime, as JSON; nil: nothing.
  func setLifetime(_ json: String?) { state.withLock { $0.lifetime = json } }

  /// Takes the first pair again, as after a new sign-in.
  func begin() {
    state.withLock { state in
      (state.refresh, state.access, state.issued) = ("dummy-refresh-0", ["dummy-access-0"], 0)
    }
  }

  /// Access tokens that were handed out count no more.
  func rejectAccess() { state.withLock { $0.access = [] } }

  // MARK: What came in

  var sent: [Sent] { state.withLock { $0.sent } }
  var refreshes: [Sent] { sent.filter(\.isToken) }
  var tips: [Sent] { sent.filter { !$0.isToken } }
  var refreshTokens: [String] { refreshes.map { $0.form["refresh_token"] ?? "none" } }
  /// How many refreshes were open at once, at the most.
  var mostOpen: Int { state.withLock { $0.mostOpen } }
  func clear() { state.withLock { $0.sent = [] } }

  // MARK: Transport

  func send(
    _ request: HTTPRequest, bearer: consuming Secret?, deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    let token: String? =
      switch bearer {
      case .some(let secret): secret.withBytes { String(decoding: $0, as: UTF8.self) }
      case .none: nil
      }
    let sent = Sent(
      at: ground.now, path: String(request.url.dropFirst(Self.base.count)), token: token,
      fields: request.fields,
      form: query("form?" + String(decoding: request.body ?? [], as: UTF8.self))
    )
    let script = state.withLock { state in
      state.sent.append(sent)
      if sent.isToken {
        state.open += 1
        state.mostOpen = max(state.mostOpen, state.open)
      }
      return state.script
    }
    defer { if sent.isToken { state.withLock { $0.open -= 1 } } }
    return try await carryOut(script(sent), sent, deadline)
  }

  private func carryOut(
    _ reply: Reply, _ sent: Sent, _ deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    switch reply {
    case .normal: return answer(sent)
    case .response(let response): return response
    case .failure(let kind): throw TransportError(kind, reason: "scripted: \(kind)")
    case .silence:
      guard await sleeper.sleep(until: deadline) else { throw Self.cancelled }
      throw TransportError(.lost, reason: "no whole answer in time")
    case .later(let span, let reply):
      let end = ground.now.advanced(by: span)
      guard await sleeper.sleep(until: min(end, deadline)) else { throw Self.cancelled }
      if end >= deadline { throw TransportError(.lost, reason: "no whole answer in time") }
      return try await carryOut(reply, sent, deadline)
    }
  }

  private static let cancelled = TransportError(.cancelled, reason: "given up")

  private func answer(_ sent: Sent) -> HTTPResponse {
    state.withLock { state in
      guard sent.isToken else {
        guard let token = sent.token, state.access.contains(token) else {
          return HTTPResponse(
            status: 401, fields: [HTTPField("WWW-Authenticate", "Bearer error=invalid_token")])
        }
        return HTTPResponse(
          status: 200, body: Array(#"{"id":"t1","title":"Rinse","body":"for \#(token)"}"#.utf8))
      }
      guard sent.form["refresh_token"] == state.refresh else {
        return HTTPResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8))
      }
      state.issued += 1
      state.refresh = "dummy-refresh-\(state.issued)"
      let access = "dummy-access-\(state.issued)"
      state.access = [access]
      let lifetime = state.lifetime.map { #","expires_in":\#($0)"# } ?? ""
      let body = #"{"access_token":"\#(access)","refresh_token":"\#(state.refresh)"\#(lifetime)}"#
      return HTTPResponse(status: 200, body: Array(body.utf8))
    }
  }
}
