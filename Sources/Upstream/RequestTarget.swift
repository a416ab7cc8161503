import CCurl
package import Requests

/// Where a request goes, taken apart by the parser that will also connect: two parsers that read
/// one URL differently are how a token gets to another host.
package struct RequestTarget: Sendable {
  /// Absolute; the path as it was given.
  package let url: String
  package let isCleartext: Bool
  /// In lower case, without brackets.
  package let host: String
  package let port: Int

  /// Scheme, host and port, the last only where it is not the scheme's own. Safe to show.
  package var origin: String {
    let scheme = isCleartext ? "http" : "https"
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isCleartext ? 80 : 443) ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
  }

  /// Whether the host is an address, which needs no look-up.
  var isNumeric: Bool {
    host.contains(":") || host.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
  }

  /// Takes absolute `http` and `https` URLs of visible ASCII, without a user.
  package init(_ url: String) throws(TransportError) {
    guard !url.isEmpty, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw TransportError(.invalidURL, reason: "a URL that is not of visible ASCII")
    }
    try self.init(parsing: [url], flags: UInt32(CURLU_PATH_AS_IS | CURLU_DISALLOW_USER))
  }

  /// Where a `Location` leads from here; nil where it cannot be read or is not HTTP.
  func redirected(to location: String) -> RequestTarget? {
    let flags = UInt32(CURLU_PATH_AS_IS | CURLU_DISALLOW_USER | CURLU_URLENCODE)
    return try? RequestTarget(parsing: [url, location], flags: flags)
  }

  /// Each part is read relative to the ones before it.
  private init(parsing parts: [String], flags: UInt32) throws(TransportError) {
    let unusable = TransportError(.invalidURL, reason: "a URL that cannot be read")
    guard let handle = curl_url() else { throw unusable }
    defer { curl_url_cleanup(handle) }
    for part in parts where curl_url_set(handle, CURLUPART_URL, part, flags) != CURLUE_OK {
      throw unusable
    }
    func get(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
      var text: UnsafeMutablePointer<CChar>?
      guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text else {
        return nil
      }
      defer { curl_free(text) }
      return String(cString: text)
    }
    // A fragment is never sent.
    curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
    guard let scheme = get(CURLUPART_SCHEME), let host = get(CURLUPART_HOST), !host.isEmpty,
      let port = get(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ Int($0) }),
      let url = get(CURLUPART_URL)
    else { throw unusable }
    switch scheme.lowercased() {
    case "http": isCleartext = true
    case "https": isCleartext = false
    default: throw TransportError(.forbidden, reason: "a protocol other than http and https")
    }
    self.url = url
    var name = host.lowercased()
    if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
    self.host = name
    self.port = port
  }
}
