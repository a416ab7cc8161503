import DemoUpstream
import Execution
import Platform
import Requests
import Secrets
import Session
import TestSupport

@testable import Upstream

/// Granted tokens as a test can compare them; they are dummies.
struct PlainTokens: Equatable {
  var access: String
  var refresh: String?
  var lifetime: Duration?
  var scope: String?
  var account: String?
  var refreshLifetime: Duration?

  init(_ tokens: consuming GrantedTokens) {
    access = PlainTokens.text(tokens.access)
    refresh =
      switch tokens.refresh {
      case .some(let token): PlainTokens.text(token)
      case .none: nil
      }
    lifetime = tokens.lifetime
    scope = tokens.scope
    account = tokens.account
    refreshLifetime = tokens.refreshLifetime
  }

  private static func text(_ secret: borrowing Secret) -> String {
    secret.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}

func plain(_ body: [UInt8], names: TokenReply.Names) throws -> PlainTokens {
  PlainTokens(try TokenReply.parse(body, names: names))
}

/// A transport on a loop of its own, and a scripted upstream.
final class UpstreamFixture: Sendable {
  let thread: LoopThread
  let transport: CurlTransport
  let upstream: DemoUpstream

  init(
    _ options: DemoOptions = DemoOptions(), _ change: (inout TransportSettings) -> Void = { _ in }
  ) throws {
    thread = try LoopThread()
    upstream = try DemoUpstream(options)
    var settings = TransportSettings()
    settings.userAgent = "brewlog-tests/1"
    change(&settings)
    transport = try CurlTransport(loop: thread.loop, settings: settings)
  }

  /// Ends the transport; nothing may be left on its way.
  func close() async -> Int {
    let left = await transport.inFlight
    await transport.close()
    return left
  }

  var loop: EventLoop { thread.loop }

  /// Far enough away not to matter.
  var later: Instant { loop.now.advanced(by: .seconds(30)) }

  func get(
    _ path: String, bearer: String? = nil, fields: [HTTPField] = [], within span: Duration? = nil
  ) async -> Result<HTTPResponse, TransportError> {
    await send(
      HTTPRequest(method: .get, url: upstream.baseURL + path, fields: fields), bearer: bearer,
      within: span)
  }

  func send(
    _ request: HTTPRequest, bearer: String? = nil, within span: Duration? = nil
  ) async -> Result<HTTPResponse, TransportError> {
    do {
      let secret = bearer.map { Array($0.utf8) }
      let deadline = span.map { loop.now.advanced(by: $0) } ?? later
      return .success(
        try await transport.send(request, bearer: try Self.secret(secret), deadline: deadline))
    } catch let error as TransportError {
      return .failure(error)
    } catch {
      return .failure(TransportError(.invalidURL, reason: "\(error)"))
    }
  }

  static func secret(_ bytes: [UInt8]?) throws(SecretError) -> Secret? {
    guard let bytes else { return nil }
    return try Secret(copying: bytes)
  }

  /// The same where another error is being thrown.
  static func secretOrFail(_ text: String) throws(GrantFailure) -> Secret {
    do throws(SecretError) {
      return try secret(text)
    } catch {
      throw GrantFailure(.cancelled, reason: "no locked memory")
    }
  }

  static func secret(_ text: String) throws(SecretError) -> Secret {
    try Secret(copying: Array(text.utf8))
  }
}

extension Result where Success == HTTPResponse, Failure == TransportError {
  var status: Int? { if case .success(let response) = self { response.status } else { nil } }
  var kind: TransportError.Kind? {
    if case .failure(let error) = self { error.kind } else { nil }
  }
  var reason: String { if case .failure(let error) = self { error.reason } else { "" } }
  var body: String? {
    if case .success(let response) = self {
      String(decoding: response.body, as: UTF8.self)
    } else {
      nil
    }
  }
}
