/// Scheme, host and port of an address.
struct UpstreamOrigin: Hashable {
  let isSecure: Bool
  let host: String
  let port: Int
  /// What is asked for there.
  let path: String

  init?(_ url: String) {
    guard let separator = url.firstRange(of: "://") else { return nil }
    switch url[..<separator.lowerBound].lowercased() {
    case "https": isSecure = true
    case "http": isSecure = false
    default: return nil
    }
    let rest = url[separator.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let after = rest[authority.endIndex...]
    path = after.isEmpty ? "/" : String(after)
    var name = authority
    var number: Substring?
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      name = authority[authority.index(after: authority.startIndex)..<end]
      let tail = authority[authority.index(after: end)...]
      number = tail.hasPrefix(":") ? tail.dropFirst() : nil
    } else if let colon = authority.firstIndex(of: ":") {
      name = authority[..<colon]
      number = authority[authority.index(after: colon)...]
    }
    guard !name.isEmpty, let port = number.map({ Int($0) }) ?? (isSecure ? 443 : 80) else {
      return nil
    }
    host = String(name)
    self.port = port
  }

  var text: String {
    "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }
}
