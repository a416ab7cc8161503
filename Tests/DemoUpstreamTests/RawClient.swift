import Glibc

/// A blocking HTTP client that sees every byte, so that a test can look at what the server really
/// sent. It reads until the server's end, or until it has what it was asked for.
final class RawClient {
  private let descriptor: Int32

  init?(port: UInt16) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    // Only so that a faulty server ends the test with a clear failure.
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if code != 0 {
      close(descriptor)
      return nil
    }
  }

  deinit {
    close(descriptor)
  }

  func send(
    _ method: String, _ target: String, headers: [(String, String)] = [], body: String = ""
  ) {
    var text = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
    text += "\r\n" + body
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
  }

  /// Everything until the server's end. Nil: the connection was reset (or nothing came in time).
  func readToEnd() -> String? {
    var bytes: [UInt8] = []
    while true {
      guard let piece = readPiece() else { return nil }
      if piece.isEmpty { return String(decoding: bytes, as: UTF8.self) }
      bytes += piece
    }
  }

  /// Until the text has come; what has come so far where the connection ended before.
  func read(until end: String) -> String {
    var text = ""
    while !text.contains(end), let piece = readPiece(), !piece.isEmpty {
      text += String(decoding: piece, as: UTF8.self)
    }
    return text
  }

  private func readPiece() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 ? nil : Array(buffer.prefix(count))
  }
}

/// One request on a connection of its own.
func ask(
  _ port: UInt16, _ method: String, _ target: String, headers: [(String, String)] = [],
  body: String = ""
) -> String? {
  guard let client = RawClient(port: port) else { return nil }
  client.send(method, target, headers: headers + [("Connection", "close")], body: body)
  return client.readToEnd()
}

func bearer(_ token: String) -> [(String, String)] { [("Authorization", "Bearer \(token)")] }
