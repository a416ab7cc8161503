import Glibc
import Platform

/// A connection that writes calls and counts replies. It knows no more of the protocol than that a
/// message ends with a zero.
final class SoakClient {
  private let descriptor: FileDescriptor
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  /// What came of a reply that is not whole.
  private(set) var last: [UInt8] = []

  init(_ path: String) throws {
    descriptor = try UnixSocket.connect(to: path, timeout: .seconds(30))
    // A reply that never comes has to end the soak, not to hang it.
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      descriptor.rawValue, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  static func call(_ method: String, _ parameters: String = "{}", _ flag: String = "") -> String {
    "{\"method\":\"\(method)\",\"parameters\":\(parameters)\(flag)}\0"
  }

  /// False where the daemon has closed the connection.
  @discardableResult
  func send(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  /// Sends what the socket takes at once; false where that is not all.
  func sendNow(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    return Glibc.send(descriptor.rawValue, bytes, bytes.count, flags) == bytes.count
  }

  /// Reads what has come.
  func drain() {
    while recv(descriptor.rawValue, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
  }

  /// Reads so many replies; the text of the last one is kept if `keep`.
  func receive(_ replies: Int, keep: Bool = false) throws {
    var left = replies
    if keep { last = [] }
    while left > 0 {
      let count = read(descriptor.rawValue, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count == 0 { throw SoakFailure("the daemon closed a connection with \(left) to answer") }
      if count < 0 { throw SystemError.last("wait for a reply") }
      let bytes = buffer[..<count]
      left -= bytes.lazy.filter { $0 == 0 }.count
      if keep { last += bytes }
    }
    if left < 0 { throw SoakFailure("\(-left) replies more than calls") }
  }

  /// Whether the daemon ends the connection.
  func endsByPeer() -> Bool {
    while true {
      let count = read(descriptor.rawValue, &buffer, buffer.count)
      if count <= 0 { return count == 0 || errno == ECONNRESET }
    }
  }
}
