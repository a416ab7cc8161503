import Glibc
import Platform

/// Name look-up, connection and one plain request, with a bound on each: enough to say which of
/// them fails. What the daemon sends goes through libcurl; nothing of it is needed here.
enum NetworkProbe {
  /// Addresses as the system's resolver gives them; its own words where it does not.
  static func addresses(of host: String, _ port: Int) -> Result<[SocketAddress], ProbeError> {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &found)
    guard code == 0 else { return .failure(ProbeError(text: String(cString: gai_strerror(code)))) }
    defer { freeaddrinfo(found) }
    var addresses: [SocketAddress] = []
    var next = found
    while let entry = next?.pointee {
      if let address = entry.ai_addr {
        addresses.append(
          SocketAddress(
            family: entry.ai_family,
            bytes: Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))))
      }
      next = entry.ai_next
    }
    return .success(addresses)
  }

  struct SocketAddress {
    let family: Int32
    let bytes: [UInt8]
  }

  struct ProbeError: Error {
    let text: String
  }

  /// The first address that takes a connection.
  static func connect(
    _ addresses: [SocketAddress], atMost span: Duration
  ) -> Result<FileDescriptor, ProbeError> {
    var last = "no address"
    for address in addresses {
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let raw = socket(address.family, type, 0)
      guard raw >= 0 else { continue }
      let descriptor = FileDescriptor(owning: raw)
      let result = address.bytes.withUnsafeBytes { bytes in
        // getaddrinfo made these bytes; they are of the family's own size.
        Glibc.connect(
          raw, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
      if result == 0 { return .success(descriptor) }
      guard errno == EINPROGRESS else {
        last = SystemError.text(of: errno)
        continue
      }
      var entry = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
      guard
        poll(
          &entry, 1, Int32(clamping: span / .milliseconds(1) < 1 ? 1 : Int(span / .milliseconds(1)))
        ) == 1
      else {
        last = "no answer in \(span.components.seconds) s"
        continue
      }
      var code: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(raw, SOL_SOCKET, SO_ERROR, &code, &size)
      if code == 0 { return .success(descriptor) }
      last = SystemError.text(of: code)
    }
    return .failure(ProbeError(text: last))
  }

  /// The head of the answer to one `HEAD` (RFC 9110, 9.3.2); nil where none comes.
  static func head(
    _ origin: UpstreamOrigin, over descriptor: borrowing FileDescriptor, atMost span: Duration
  ) -> String? {
    let raw = descriptor.rawValue
    let request = Array(
      ("HEAD \(origin.path) HTTP/1.1\r\nHost: \(origin.host):\(origin.port)\r\n"
        + "Connection: close\r\nUser-Agent: brewlogctl-doctor\r\n\r\n").utf8)
    guard send(raw, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      return nil
    }
    let limit = ContinuousClock.now + span
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 8192)
    while bytes.count < 64 * 1024 {
      let left = ContinuousClock.now.duration(to: limit)
      guard left > .zero, CLIEnvironment.wait(left, for: [raw]) != nil else { break }
      let count = recv(raw, &buffer, buffer.count, 0)
      if count <= 0 { break }
      bytes += buffer.prefix(count)
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}
