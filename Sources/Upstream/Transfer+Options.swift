import CCurl
import Execution
import Requests
import Secrets

extension Transfer {
  /// Sets all that makes the request. An option that libcurl refuses is a request that cannot be
  /// made: none of them may silently be left out.
  func prepare(
    _ request: HTTPRequest, target: RequestTarget, bearer: borrowing Secret?,
    settings: TransportSettings, onNewConnection: Bool
  ) throws(TransportError) {
    // A host in numbers is judged at once; a name only when it has led somewhere (`mayWrite`).
    if target.isNumeric, !mayReach(target.host) { throw refusedCleartext(target.host) }
    try setWire(target, settings: settings)
    try setProxy(target, settings: settings)
    try setCallbacks()
    try set(CURLOPT_USERAGENT, settings.userAgent)
    // All that this libcurl can undo; the bound is on what comes out.
    try set(CURLOPT_ACCEPT_ENCODING, "")
    if onNewConnection { try set(CURLOPT_FRESH_CONNECT, 1) }
    if request.connection == .own { try set(CURLOPT_FORBID_REUSE, 1) }
    switch request.method {
    case .get: try set(CURLOPT_HTTPGET, 1)
    case .post: try setBody(request.body ?? [])
    }
    try setFields(request, bearer: bearer)
  }

  private func setWire(
    _ target: RequestTarget, settings: TransportSettings
  ) throws(TransportError) {
    try set(CURLOPT_URL, target.url)
    try set(CURLOPT_PATH_AS_IS, 1)
    try set(CURLOPT_PROTOCOLS_STR, target.isCleartext ? "http" : "https")
    try set(CURLOPT_FOLLOWLOCATION, 0)
    try set(CURLOPT_NOSIGNAL, 1)
    // Otherwise a look-up that is given up is waited for, and the loop with it.
    try set(CURLOPT_QUICK_EXIT, 1)
    let connect = settings.connectTimeout.clampedNanoseconds / 1_000_000
    try set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(max(1, connect), Int64(Int32.max))))
    try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    // While a directory of authorities is set the bundle is parsed for every connection.
    try set(CURLOPT_CAPATH, nil)
    if let bundle = settings.caFile { try set(CURLOPT_CAINFO, bundle) }
  }

  private func setProxy(
    _ target: RequestTarget, settings: TransportSettings
  ) throws(TransportError) {
    // Behind a proxy nobody can tell where cleartext goes; and loopback is the proxy's own there.
    if LoopbackAddress.isLiteral(host: target.host)
      || (target.isCleartext && !settings.allowCleartext)
    {
      try set(CURLOPT_PROXY, "")
    } else if let proxy = settings.proxy {
      try set(CURLOPT_PROXY, proxy)
      // What is configured here is not taken back by the environment.
      try set(CURLOPT_NOPROXY, "")
    }
    try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
  }

  private func setBody(_ body: [UInt8]) throws(TransportError) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, body.count), alignment: 1)
    copy.copyBytes(from: body)
    requestBody = copy
    try set(CURLOPT_POST, 1)
    try check(brewlog_easy_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
    try check(brewlog_easy_set_pointer(easy, CURLOPT_POSTFIELDS, copy.baseAddress))
  }

  private func setCallbacks() throws(TransportError) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    try check(brewlog_easy_set_receiver(easy, CURLOPT_WRITEFUNCTION, receiveBody))
    try check(brewlog_easy_set_pointer(easy, CURLOPT_WRITEDATA, context))
    try check(brewlog_easy_set_receiver(easy, CURLOPT_HEADERFUNCTION, receiveHeader))
    try check(brewlog_easy_set_pointer(easy, CURLOPT_HEADERDATA, context))
    try check(brewlog_easy_set_before_request(easy, beforeRequest))
    try check(brewlog_easy_set_pointer(easy, CURLOPT_PREREQDATA, context))
  }

  // MARK: Header fields

  /// Names that are the transport's own business.
  private static let reserved: Set<String> = [
    "authorization", "connection", "content-length", "cookie", "host", "proxy-authorization",
    "te", "transfer-encoding", "upgrade",
  ]

  private func setFields(
    _ request: HTTPRequest, bearer: borrowing Secret?
  ) throws(TransportError) {
    var names: Set<String> = []
    for field in request.fields {
      let name = field.name.lowercased()
      guard Transfer.isToken(field.name), Transfer.isFieldValue(field.value),
        !Transfer.reserved.contains(name)
      else {
        throw TransportError(.invalidURL, reason: "a header field that cannot be sent")
      }
      names.insert(name)
      // An empty value is written with a semicolon, or libcurl leaves the field out.
      try append(header: field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    if request.method == .post {
      // Two that libcurl would add by itself.
      if !names.contains("content-type") { try append(header: "Content-Type:") }
      try append(header: "Expect:")
    }
    switch bearer {
    case .some(let secret): try append(scheme: request.scheme, secret: secret)
    case .none: break
    }
    try check(brewlog_easy_set_list(easy, CURLOPT_HTTPHEADER, headers))
  }

  private func append(
    scheme: HTTPRequest.Scheme, secret: borrowing Secret
  ) throws(TransportError) {
    var line = Array("Authorization: \(scheme.rawValue) ".utf8)
    line.reserveCapacity(line.count + secret.count + 1)
    let isSendable = secret.withBytes { bytes in
      line.append(contentsOf: bytes)
      return !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) }
    }
    line.append(0)
    defer { wipe(&line) }
    guard isSendable else {
      throw TransportError(.invalidURL, reason: "a token that cannot stand in a header")
    }
    let grown = line.withUnsafeBytes { bytes in
      curl_slist_append(headers, bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
    }
    try keep(grown)
  }

  private func append(header line: String) throws(TransportError) {
    try keep(curl_slist_append(headers, line))
  }

  private func keep(_ grown: UnsafeMutablePointer<curl_slist>?) throws(TransportError) {
    guard let grown else { throw TransportError(.unreachable, reason: "no memory for a request") }
    headers = grown
  }

  /// RFC 9110 section 5.6.2.
  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  private static func isFieldValue(_ value: String) -> Bool {
    value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }

  // MARK: Setting

  private func set(_ option: CURLoption, _ value: Int) throws(TransportError) {
    try check(brewlog_easy_set_long(easy, option, value))
  }

  private func set(_ option: CURLoption, _ value: String?) throws(TransportError) {
    try check(brewlog_easy_set_text(easy, option, value))
  }

  private func check(_ code: CURLcode) throws(TransportError) {
    guard code == CURLE_OK else {
      throw TransportError(
        .unreachable,
        reason: "libcurl refused an option: \(String(cString: curl_easy_strerror(code)))")
    }
  }
}

// Called by libcurl on the loop, within a call that the transport makes; the context is the
// transfer, which outlives its handle's stay in the multi handle.

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
  context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

private func receiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return transfer(context)?.receive(headerLine: line) == true ? line.count : -1
}

private func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return transfer(context)?.receive(bodyPart: part) == true ? part.count : -1
}

private func beforeRequest(
  _ context: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<CChar>?,
  _ local: UnsafeMutablePointer<CChar>?, _ port: Int32, _ localPort: Int32
) -> Int32 {
  let peer = address.map { String(cString: $0) } ?? ""
  return transfer(context)?.mayWrite(to: peer) == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}
