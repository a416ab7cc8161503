import Execution
import FoundationEssentials
import JSON
import Requests
import Secrets
import Session
import Tips

@testable import Upstream

/// What an upstream may say, to everything that reads it.
enum UpstreamTarget {
  private static let now = WallTime(milliseconds: 1_800_000_000_000)

  static let fields: TipFields? = {
    guard let id = JSONPointer("/id"), let title = JSONPointer("/title"),
      let body = JSONPointer("/body"), let date = JSONPointer("/meta/date"),
      let tags = JSONPointer("/tags"), let url = JSONPointer("/links/0")
    else { return nil }
    return TipFields(id: id, title: title, body: body, date: date, tags: tags, url: url)
  }()

  /// The first byte chooses the reader.
  static func run(_ bytes: ArraySlice<UInt8>) {
    guard let choice = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    let text = String(decoding: rest, as: UTF8.self)
    switch choice % 12 {
    case 0: pointer(text)
    case 1: dates(text)
    case 2: lifetimes(text)
    case 3: challenge(text)
    case 4: tokens(rest, .oauth2)
    case 5: tokens(rest, .simple)
    case 6: refusal(rest)
    case 7: _ = try? fields?.read(rest)
    case 8: sanitise(rest, text)
    case 9: _ = try? DeviceGrant.read(rest, now: Instant(nanoseconds: 1_000_000))
    case 10:
      _ = RedirectRequest(rest)
      _ = RedirectAnswer(text, redirectURI: "http://127.0.0.1:1/callback")
      _ = try? Discovery.documents(of: text)
    default: segment(text)
    }
  }

  private static func pointer(_ text: String) {
    let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    guard let pointer = JSONPointer(String(parts[0])) else { return }
    let document = parts.count > 1 ? Array(parts[1].utf8) : Array("{}".utf8)
    guard let root = try? JSONText.decode(JSONValue.self, from: document) else { return }
    _ = pointer.value(in: root)
  }

  private static func dates(_ text: String) {
    _ = HTTPDate.parse(text, now: now)
    let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    var response = HTTPResponse(status: 503, fields: [HTTPField("Retry-After", String(lines[0]))])
    if lines.count > 1 { response.fields.append(HTTPField("Date", String(lines[1]))) }
    if let wait = RetryAfter.parse(response, now: now) {
      precondition(wait >= .zero, "a wait that lies in the past")
    }
  }

  private static func lifetimes(_ text: String) {
    let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    var response = HTTPResponse(status: 200, fields: [HTTPField("Cache-Control", String(lines[0]))])
    if lines.count > 1 {
      for name in ["Age", "Expires", "Date"] {
        response.fields.append(HTTPField(name, String(lines[1])))
      }
    }
    let control = CacheControl(response, silent: .seconds(900), now: now)
    for span in [control.lifetime, control.staleIfError, control.staleWhileRevalidate] {
      guard let span else { continue }
      precondition(span >= .zero, "a span that is over before it began")
      _ = now.advanced(by: span)
    }
  }

  private static func challenge(_ text: String) {
    let fields = [HTTPField("WWW-Authenticate", text)]
    _ = AuthenticationChallenge.saysInsufficientScope(HTTPResponse(status: 403, fields: fields))
  }

  private static func tokens(_ body: [UInt8], _ names: TokenReply.Names) {
    guard let granted = try? TokenReply.parse(body, names: names) else { return }
    precondition(granted.access.count > 0, "an empty token")
    if let lifetime = granted.lifetime {
      precondition(lifetime >= .seconds(1) && lifetime <= .seconds(366 * 86_400))
    }
  }

  /// The first byte of the body chooses the status.
  private static func refusal(_ body: [UInt8]) {
    let statuses = [200, 204, 301, 400, 401, 403, 404, 429, 500, 999, 0, -1]
    let status = statuses[Int(body.first ?? 0) % statuses.count]
    let rest = Array(body.dropFirst())
    let response = HTTPResponse(
      status: status,
      fields: [
        HTTPField("Location", String(decoding: rest, as: UTF8.self)),
        HTTPField("Retry-After", String(decoding: rest, as: UTF8.self)),
      ], body: rest)
    for dialect in [RefreshAnswer.Dialect.simple, .oauth2] {
      let failure = RefreshAnswer.failure(response, dialect: dialect, now: now)
      precondition(isPlain(failure.reason), "control characters in an error")
    }
    _ = GrantFailure(response, from: "token endpoint")
  }

  private static func sanitise(_ bytes: [UInt8], _ text: String) {
    let clean = TextSanitizer.clean(text, limit: 100)
    precondition(isPlain(clean), "control characters after cleaning")
    precondition(clean.unicodeScalars.count <= 101, "longer than its bound")
    precondition(TextSanitizer.clean(clean, limit: 101) == clean, "cleaning is not done at once")
    precondition(isPlain(TextSanitizer.clean(bytes, limit: 100)))
    _ = TextSanitizer.clean(text, lines: .kept)
  }

  private static func segment(_ text: String) {
    let encoded = PercentEncoding.encode(text)
    let isSafe = encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
    precondition(isSafe, "a segment that is more than one")
    _ = try? RequestTarget(text)
  }

  private static func isPlain(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
  }
}
