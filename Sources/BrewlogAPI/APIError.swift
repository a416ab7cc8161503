import JSON
package import Varlink

/// Every error that the contract declares, with its parameters. One that is not known here, of a
/// newer daemon or of Varlink itself, is kept whole in `other`: a peer's words never make a
/// program trap or guess.
package enum APIError: Error, Equatable, Sendable {
  // org.brewlog.Tips
  case tipsSignedOut(generation: Int, reason: String)
  case tipsSuspended(reason: String)
  case unavailable(reason: String, httpStatus: Int? = nil, retryAfterSeconds: Int? = nil)
  case refused(reason: String, httpStatus: Int)
  case notFound(id: String)
  case malformed(reason: String)
  case tooMany(retryAfterSeconds: Int)
  case tipsTooSlow
  // org.brewlog.Session
  case signedOut(generation: Int, reason: String)
  case suspended(reason: String)
  case loginFailed(reason: String, upstreamError: String? = nil)
  case loginNotConfigured(missing: [String])
  case noSuchLogin(id: String)
  case refreshFailed(reason: String, retryAfterSeconds: Int? = nil)
  case generationMoved(generation: Int)
  case spentToken(reason: String)
  case tooSlow(lastSequence: Int)
  case logoutNotDurable(generation: Int, reason: String)
  case storeFailed(reason: String)
  // org.brewlog.Service
  case invalidConfiguration(file: String, line: Int, reason: String)

  case other(VarlinkError)

  package var varlinkError: VarlinkError {
    switch self {
    case .tipsSignedOut(let generation, let reason):
      tips("SignedOut", ["generation": number(generation), "reason": .string(reason)])
    case .tipsSuspended(let reason): tips("Suspended", ["reason": .string(reason)])
    case .unavailable(let reason, let status, let retryAfter):
      tips(
        "Unavailable",
        [
          "reason": .string(reason), "httpStatus": number(status),
          "retryAfterSeconds": number(retryAfter),
        ])
    case .refused(let reason, let status):
      tips("Refused", ["reason": .string(reason), "httpStatus": number(status)])
    case .notFound(let id): tips("NotFound", ["id": .string(id)])
    case .malformed(let reason): tips("Malformed", ["reason": .string(reason)])
    case .tooMany(let retryAfter): tips("TooMany", ["retryAfterSeconds": number(retryAfter)])
    case .tipsTooSlow: tips("TooSlow", [:])
    case .signedOut(let generation, let reason):
      session("SignedOut", ["generation": number(generation), "reason": .string(reason)])
    case .suspended(let reason): session("Suspended", ["reason": .string(reason)])
    case .loginFailed(let reason, let upstream):
      session(
        "LoginFailed",
        ["reason": .string(reason), "upstreamError": upstream.map { .string($0) }])
    case .loginNotConfigured(let missing):
      session("LoginNotConfigured", ["missing": .array(missing.map { .string($0) })])
    case .noSuchLogin(let id): session("NoSuchLogin", ["id": .string(id)])
    case .refreshFailed(let reason, let retryAfter):
      session(
        "RefreshFailed", ["reason": .string(reason), "retryAfterSeconds": number(retryAfter)])
    case .generationMoved(let generation):
      session("GenerationMoved", ["generation": number(generation)])
    case .spentToken(let reason): session("SpentToken", ["reason": .string(reason)])
    case .tooSlow(let last): session("TooSlow", ["lastSequence": number(last)])
    case .logoutNotDurable(let generation, let reason):
      session("LogoutNotDurable", ["generation": number(generation), "reason": .string(reason)])
    case .storeFailed(let reason): session("StoreFailed", ["reason": .string(reason)])
    case .invalidConfiguration(let file, let line, let reason):
      error(
        .service, "InvalidConfiguration",
        ["file": .string(file), "line": number(line), "reason": .string(reason)])
    case .other(let error): error
    }
  }

  package init(_ error: VarlinkError) {
    let read = Reader(parameters: error.parameters)
    self =
      Self.decodeTips(error.name, read) ?? Self.decodeSession(error.name, read)
      ?? (error.name == "org.brewlog.Service.InvalidConfiguration"
        ? .invalidConfiguration(
          file: read.text("file"), line: read.number("line"), reason: read.reason)
        : .other(error))
  }

  private static func decodeTips(_ name: String, _ read: Reader) -> APIError? {
    switch name {
    case "org.brewlog.Tips.SignedOut":
      .tipsSignedOut(generation: read.number("generation"), reason: read.reason)
    case "org.brewlog.Tips.Suspended": .tipsSuspended(reason: read.reason)
    case "org.brewlog.Tips.Unavailable":
      .unavailable(
        reason: read.reason, httpStatus: read.optionalNumber("httpStatus"),
        retryAfterSeconds: read.optionalNumber("retryAfterSeconds"))
    case "org.brewlog.Tips.Refused":
      .refused(reason: read.reason, httpStatus: read.number("httpStatus"))
    case "org.brewlog.Tips.NotFound": .notFound(id: read.text("id"))
    case "org.brewlog.Tips.Malformed": .malformed(reason: read.reason)
    case "org.brewlog.Tips.TooMany":
      .tooMany(retryAfterSeconds: read.number("retryAfterSeconds"))
    case "org.brewlog.Tips.TooSlow": .tipsTooSlow
    default: nil
    }
  }

  private static func decodeSession(_ name: String, _ read: Reader) -> APIError? {
    switch name {
    case "org.brewlog.Session.SignedOut":
      .signedOut(generation: read.number("generation"), reason: read.reason)
    case "org.brewlog.Session.Suspended": .suspended(reason: read.reason)
    case "org.brewlog.Session.LoginFailed":
      .loginFailed(reason: read.reason, upstreamError: read.optionalText("upstreamError"))
    case "org.brewlog.Session.LoginNotConfigured":
      .loginNotConfigured(missing: read.texts("missing"))
    case "org.brewlog.Session.NoSuchLogin": .noSuchLogin(id: read.text("id"))
    case "org.brewlog.Session.RefreshFailed":
      .refreshFailed(
        reason: read.reason, retryAfterSeconds: read.optionalNumber("retryAfterSeconds"))
    case "org.brewlog.Session.GenerationMoved":
      .generationMoved(generation: read.number("generation"))
    case "org.brewlog.Session.SpentToken": .spentToken(reason: read.reason)
    case "org.brewlog.Session.TooSlow": .tooSlow(lastSequence: read.number("lastSequence"))
    case "org.brewlog.Session.LogoutNotDurable":
      .logoutNotDurable(generation: read.number("generation"), reason: read.reason)
    case "org.brewlog.Session.StoreFailed": .storeFailed(reason: read.reason)
    default: nil
    }
  }
}

/// Takes what is there: an error whose parameters are not as declared is still that error.
private struct Reader {
  var parameters: [String: JSONValue]

  var reason: String { text("reason") }

  func text(_ name: String) -> String { optionalText(name) ?? "" }

  func optionalText(_ name: String) -> String? { parameters[name]?.string }

  func number(_ name: String) -> Int { optionalNumber(name) ?? 0 }

  func optionalNumber(_ name: String) -> Int? {
    parameters[name]?.integer.flatMap { Int(exactly: $0) }
  }

  func texts(_ name: String) -> [String] { (parameters[name]?.array ?? []).compactMap(\.string) }
}

private func error(
  _ interface: APIInterface, _ name: String, _ parameters: [String: JSONValue?]
) -> VarlinkError {
  VarlinkError(
    name: interface.rawValue + "." + name, parameters: parameters.compactMapValues { $0 })
}

private func tips(_ name: String, _ parameters: [String: JSONValue?]) -> VarlinkError {
  error(.tips, name, parameters)
}

private func session(_ name: String, _ parameters: [String: JSONValue?]) -> VarlinkError {
  error(.session, name, parameters)
}

private func number(_ value: Int?) -> JSONValue? { value.map { .integer(Int64($0)) } }
