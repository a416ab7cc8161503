/// Whether a request may be sent again after a lost answer or a refresh (I3).
package enum Repetition: Hashable, Sendable {
  /// Sending it twice does what sending it once does (RFC 9110, section 9.2.2).
  case idempotent
  /// The server counts all requests with this key once.
  case keyed(String)
  /// Sent once, whatever comes back.
  case never
}

/// One kind of request to the API, typed by what it answers.
package struct Endpoint<Value: Sendable>: Sendable {
  package var method: HTTPMethod
  /// Begins with `/`; each segment already percent-encoded, sent as built.
  package var path: String
  /// In the order in which it is sent.
  package var query: [HTTPField]
  package var fields: [HTTPField]
  package var repetition: Repetition
  /// Made again for every try, byte for byte.
  package var body: (@Sendable () -> [UInt8])?
  /// Reads the answers that the retry policy lets through (2xx, 304).
  package var interpret: @Sendable (HTTPResponse) throws(RequestError) -> Value

  package init(
    _ method: HTTPMethod, _ path: String, query: [HTTPField] = [], fields: [HTTPField] = [],
    repetition: Repetition, body: (@Sendable () -> [UInt8])? = nil,
    interpret: @escaping @Sendable (HTTPResponse) throws(RequestError) -> Value
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.fields = fields
    self.repetition = repetition
    self.body = body
    self.interpret = interpret
  }

  package var mayRepeat: Bool { repetition != .never }

  /// The request without its `Authorization`. Throws `invalidURL` where the parts do not make one.
  package func request(base: String) throws(RequestError) -> HTTPRequest {
    guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw .invalidURL(reason: "the path is not a percent-encoded one that begins with a slash")
    }
    var url = base
    while url.hasSuffix("/") { url.removeLast() }
    url += path
    if !query.isEmpty {
      url +=
        "?"
        + query.map { PercentEncoding.encode($0.name) + "=" + PercentEncoding.encode($0.value) }
        .joined(separator: "&")
    }
    var all = fields
    if case .keyed(let key) = repetition { all.append(HTTPField("Idempotency-Key", key)) }
    return HTTPRequest(method: method, url: url, fields: all, body: body?())
  }
}

/// Percent-encoding of all but the unreserved characters (RFC 3986, section 2.3).
package enum PercentEncoding {
  package static func encode(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += digits.count == 1 ? "%0" + digits : "%" + digits
      }
    }
    return encoded
  }
}
