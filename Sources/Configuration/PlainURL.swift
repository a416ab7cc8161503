/// As much of an URL (RFC 3986) as a configuration must be checked for; libcurl reads it in full.
struct PlainURL {
  let scheme: String
  let hasNoQuery: Bool

  /// Nil: no scheme and host, a bad port, a fragment, or a character that has no place in an URL.
  init?(_ text: String, allowsUser: Bool = false) {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !Self.excluded.contains($0) }),
      !text.contains("#"),
      let separator = text.firstRange(of: "://")
    else { return nil }
    scheme = text[..<separator.lowerBound].lowercased()
    let rest = text[separator.upperBound...]
    hasNoQuery = !rest.contains("?")
    var authority = rest.prefix { $0 != "/" && $0 != "?" }
    if let at = authority.lastIndex(of: "@") {
      guard allowsUser else { return nil }
      authority = authority[authority.index(after: at)...]
    }
    guard Self.isHostAndPort(authority) else { return nil }
  }

  var isHTTP: Bool { scheme == "http" || scheme == "https" }

  /// `"<>\^`{|}`
  private static let excluded: Set<UInt8> = [0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B, 0x7C, 0x7D]

  private static func isHostAndPort(_ text: Substring) -> Bool {
    var host = text
    var port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return false }
      host = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { return false }
      port = rest.isEmpty ? nil : rest.dropFirst()
      guard host.contains(":") else { return false }
    } else if let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    if let port {
      guard port.allSatisfy(\.isASCIIDigit), let number = Int(port), (1...65535).contains(number)
      else { return false }
    }
    return !host.isEmpty
  }
}
