/// How a value is written, and what to say to someone who wrote it otherwise.
struct Form<Value: Sendable>: Sendable {
  /// Follows "is not": "a time span such as 60s".
  let expectation: String
  /// What there is to say of this text besides, where it is not of this form: "it has 108".
  let remark: @Sendable (String) -> String?
  /// Nil: it is not of this form. Never called with an empty text: that resets.
  let parse: @Sendable (String) -> Value?

  init(
    _ expectation: String, remark: @escaping @Sendable (String) -> String? = { _ in nil },
    _ parse: @escaping @Sendable (String) -> Value?
  ) {
    self.expectation = expectation
    self.remark = remark
    self.parse = parse
  }

  /// The same form for a value that may be missing.
  var optional: Form<Value?> {
    Form<Value?>(expectation, remark: remark) { [parse] text in parse(text).map { .some($0) } }
  }
}

extension Form where Value == Duration {
  static let span = Form("a time span such as 500ms, 60s or 1h 30min") { TimeSpan.parse($0) }

  /// A span that must not be nothing, or all requests would fail.
  static let positiveSpan = Form("a time span above zero, such as 500ms, 60s or 1h 30min") { text in
    TimeSpan.parse(text).flatMap { $0 > .zero ? $0 : nil }
  }
}

extension Form where Value == Int {
  static func number(_ range: ClosedRange<Int>) -> Form {
    Form("a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
      guard text.allSatisfy(\.isASCIIDigit), let number = Int(text) else { return nil }
      return range.contains(number) ? number : nil
    }
  }

  static func size(_ range: ClosedRange<Int>, _ bounds: String) -> Form {
    Form("a size such as 4096, 64K or 1M, \(bounds)") { text in
      ByteSize.parse(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  static let percentage = Form("a percentage from 0% to 100%") { text in
    guard text.hasSuffix("%") else { return nil }
    let digits = text.dropLast()
    guard digits.allSatisfy(\.isASCIIDigit), let number = Int(digits) else { return nil }
    return (0...100).contains(number) ? number : nil
  }
}

extension Form where Value == UInt32 {
  static let mode = Form("a file mode in octal such as 0660") { text in
    guard (3...4).contains(text.count), text.allSatisfy({ $0.isASCIIDigit }) else { return nil }
    return UInt32(text, radix: 8).flatMap { $0 <= 0o777 ? $0 : nil }
  }
}

extension Form where Value == Bool {
  static let boolean = Form("yes or no") { text in
    switch text.lowercased() {
    case "1", "yes", "y", "true", "t", "on": true
    case "0", "no", "n", "false", "f", "off": false
    default: nil
    }
  }
}

extension Form where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  static var choice: Form {
    let names = Value.allCases.map(\.rawValue)
    return Form(names.joined(separator: " or ")) { Value(rawValue: $0) }
  }
}

extension Form where Value == [String] {
  static let access = Form("a list of users and @groups such as \"ada @brewlog\"") { text in
    let words = text.split(whereSeparator: { $0.isWhitespace || $0 == "," }).map { String($0) }
    return words.allSatisfy { AccessName.isEntry($0) } ? words : nil
  }
}

extension Form where Value == String {
  /// Printable ASCII without spaces: a client id, a scope's word.
  static let token = Form("a word of printable ASCII") { text in
    text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
  }

  static let words = Form("words of printable ASCII, separated by spaces") { text in
    text.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? text : nil
  }

  static let file = Form("an absolute path") { text in
    text.hasPrefix("/") && !text.split(separator: "/").contains("..") ? text : nil
  }

  static let socketPath = Form(
    "an absolute path of at most 107 bytes",
    remark: { $0.utf8.count <= 107 ? nil : "it has \($0.utf8.count)" }
  ) { text in
    // sockaddr_un holds 108, with a zero at the end.
    text.utf8.count <= 107 ? Form<String>.file.parse(text) : nil
  }

  static let accountName = Form("a name of a group") { text in
    AccessName.isName(text) ? text : nil
  }

  static let zone = Form("a time zone such as Europe/Berlin") { text in
    let isZone = text.utf8.allSatisfy { byte in
      isAlphanumeric(byte) || [0x2B, 0x2D, 0x2F, 0x5F].contains(byte)
    }
    return isZone && !text.hasPrefix("/") ? text : nil
  }

  /// A path below `BaseURL=`, sent as it is.
  static let requestPath = Form("a path such as /tips/today") { text in
    isRequestPath(text) && !text.contains("{") ? text : nil
  }

  static let itemPath = Form("a path with {id} in it once, such as /tips/{id}") { text in
    let parts = text.split(separator: "{id}", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts.joined().contains("{") else { return nil }
    return isRequestPath(text) ? text : nil
  }

  /// RFC 6901: "~" stands only before 0 and 1.
  static let pointer = Form("a JSON pointer (RFC 6901) such as /data/id") { text in
    let escapes = text.split(separator: "~", omittingEmptySubsequences: false).dropFirst()
    let isEscaped = escapes.allSatisfy { $0.first == "0" || $0.first == "1" }
    return text.hasPrefix("/") && isEscaped ? text : nil
  }

  static let baseURL = Form("an http or https URL with a host, without user, query or fragment") {
    guard let url = PlainURL($0), url.isHTTP, url.hasNoQuery else { return nil }
    var text = $0
    while text.hasSuffix("/") { text.removeLast() }
    return text
  }

  /// An issuer is compared as a string (RFC 8414 section 3.3), so it stays as it is written.
  static let issuer = Form("an http or https URL with a host, without user, query or fragment") {
    guard let url = PlainURL($0), url.isHTTP, url.hasNoQuery else { return nil }
    return $0
  }

  static let endpoint = Form("an http or https URL with a host, without user or fragment") {
    guard let url = PlainURL($0), url.isHTTP else { return nil }
    return $0
  }

  static let proxy = Form("a proxy such as http://proxy.example:3128 or socks5h://127.0.0.1:1080") {
    let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    guard let url = PlainURL($0, allowsUser: true), schemes.contains(url.scheme) else { return nil }
    return $0
  }

  private static func isRequestPath(_ text: String) -> Bool {
    text.hasPrefix("/") && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x23 }
  }
}

func isAlphanumeric(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
  default: false
  }
}
