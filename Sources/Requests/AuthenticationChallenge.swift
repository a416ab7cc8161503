/// One challenge of a `WWW-Authenticate` field (RFC 9110, section 11.6.1; RFC 6750, section 3). One
/// field may hold several, and their parameters are separated by the same commas as they are.
package struct AuthenticationChallenge: Equatable, Sendable {
  /// In lower case.
  package var scheme: String
  /// What stands in place of parameters in some schemes.
  package var token68: String?
  /// By their names in lower case; of two with one name the first.
  package var parameters: [String: String] = [:]

  package init(scheme: String, token68: String? = nil, parameters: [String: String] = [:]) {
    self.scheme = scheme
    self.token68 = token68
    self.parameters = parameters
  }

  /// All of an answer's, in order. What cannot be read is left out.
  package static func all(in response: HTTPResponse) -> [AuthenticationChallenge] {
    response.fields
      .filter { $0.name.lowercased() == "www-authenticate" }
      .flatMap { parse($0.value) }
  }

  package static func parse(_ value: String) -> [AuthenticationChallenge] {
    var reader = ChallengeReader(value)
    return reader.challenges()
  }

  /// Whether a 401 or 403 speaks of a scope that is missing: no refresh mends that. Only what is said
  /// to our own scheme counts.
  package static func saysInsufficientScope(_ response: HTTPResponse) -> Bool {
    all(in: response).contains {
      $0.scheme == "bearer" && $0.parameters["error"]?.lowercased() == "insufficient_scope"
    }
  }
}

/// A place in the text of a field.
private struct ChallengeReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ text: String) {
    bytes = Array(text.utf8)
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  mutating func challenges() -> [AuthenticationChallenge] {
    var found: [AuthenticationChallenge] = []
    while true {
      skip { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
      guard next != nil else { return found }
      guard let name = token() else {
        skipElement()
        continue
      }
      if let value = parameterValue() {
        // Without a scheme in front it belongs to nobody.
        if !found.isEmpty, found[found.count - 1].parameters[name] == nil {
          found[found.count - 1].parameters[name] = value
        }
      } else if isElementEnd || next.map(Self.isSpace) == true {
        found.append(AuthenticationChallenge(scheme: name, token68: token68()))
      } else {
        skipElement()
      }
    }
  }

  private var isElementEnd: Bool { next == nil || next == UInt8(ascii: ",") }

  private mutating func skip(while matches: (UInt8) -> Bool) {
    while let byte = next, matches(byte) { position += 1 }
  }

  /// To the next comma that is not quoted.
  private mutating func skipElement() {
    while let byte = next, byte != UInt8(ascii: ",") {
      if byte == UInt8(ascii: "\"") {
        _ = quoted()
      } else {
        position += 1
      }
    }
  }

  private mutating func token() -> String? {
    let start = position
    skip(while: Self.isTokenCharacter)
    guard position > start else { return nil }
    return String(decoding: bytes[start..<position], as: UTF8.self).lowercased()
  }

  /// What stands behind `=`; nil, and nothing read, where no `=` comes next.
  private mutating func parameterValue() -> String? {
    let start = position
    skip(while: Self.isSpace)
    guard next == UInt8(ascii: "=") else {
      position = start
      return nil
    }
    position += 1
    skip(while: Self.isSpace)
    if next == UInt8(ascii: "\"") { return quoted() }
    let begin = position
    skip { $0 != UInt8(ascii: ",") && !Self.isSpace($0) }
    return String(decoding: bytes[begin..<position], as: UTF8.self)
  }

  /// At a quotation mark. One that is never closed ends with the text.
  private mutating func quoted() -> String {
    position += 1
    var plain: [UInt8] = []
    while let byte = next {
      position += 1
      if byte == UInt8(ascii: "\"") { break }
      if byte == UInt8(ascii: "\\"), let escaped = next {
        position += 1
        plain.append(escaped)
      } else {
        plain.append(byte)
      }
    }
    return String(decoding: plain, as: UTF8.self)
  }

  /// Behind a scheme; nil, and nothing read, where parameters or nothing come.
  private mutating func token68() -> String? {
    let start = position
    skip(while: Self.isSpace)
    let begin = position
    skip { Self.isTokenCharacter($0) || $0 == UInt8(ascii: "/") }
    let hasText = position > begin
    skip { $0 == UInt8(ascii: "=") }
    let end = position
    skip(while: Self.isSpace)
    guard hasText, isElementEnd else {
      position = start
      return nil
    }
    return String(decoding: bytes[begin..<end], as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// RFC 9110 section 5.6.2.
  private static func isTokenCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
