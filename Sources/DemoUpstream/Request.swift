import FoundationEssentials
import JSON

/// One request as it arrived, whole.
struct Request: Sendable {
  var method: Method
  /// As it was sent, still encoded, without the query.
  var path: String
  var query: String
  /// Names in lower case.
  var headers: [String: String]
  var body: [UInt8]

  init(
    method: Method, target: String, headers: [String: String] = [:], body: [UInt8] = []
  ) {
    self.method = method
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts[0])
    query = parts.count > 1 ? String(parts[1]) : ""
    self.headers = headers
    self.body = body
  }

  /// The token of `Authorization: Bearer`, the scheme in any case.
  var bearer: String? { credentials(of: "bearer") }

  /// Id and secret of `Authorization: Basic` (RFC 6749 section 2.3.1: both are form-encoded).
  var basic: (id: String, secret: String)? {
    guard let text = credentials(of: "basic"), let data = Data(base64Encoded: text) else {
      return nil
    }
    let parts = String(decoding: data, as: UTF8.self)
      .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    return (Form.decode(parts[0]), Form.decode(parts[1]))
  }

  var isForm: Bool {
    headers["content-type"]?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true
  }

  /// The members of a JSON object (texts alone) or of a form, by what the body looks like.
  var fields: [String: String] {
    guard body.first == UInt8(ascii: "{") else {
      return Form.fields(of: String(decoding: body, as: UTF8.self))
    }
    let value = try? JSONText.decode(JSONValue.self, from: body)
    return (value?.object ?? [:]).compactMapValues(\.string)
  }

  private func credentials(of scheme: String) -> String? {
    guard let header = headers["authorization"] else { return nil }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
    return String(parts[1])
  }
}

/// `application/x-www-form-urlencoded`.
enum Form {
  static func fields(of text: String) -> [String: String] {
    var fields: [String: String] = [:]
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      fields[decode(parts[0])] = parts.count > 1 ? decode(parts[1]) : ""
    }
    return fields
  }

  static func encode(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        return String(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.utf8.count == 1 ? "%0" + digits : "%" + digits
      }
    }.joined()
  }

  static func decode(_ text: some StringProtocol) -> String {
    percentDecode(text, plusIsSpace: true)
  }

  /// What is not a proper escape stays as it is.
  static func percentDecode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "+"), plusIsSpace {
        bytes.append(UInt8(ascii: " "))
      } else if byte == UInt8(ascii: "%"), let value = hexadecimal(rest.prefix(2)) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt8? {
    guard digits.count == 2 else { return nil }
    return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}
