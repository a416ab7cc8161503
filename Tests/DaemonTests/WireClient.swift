import FoundationEssentials
import Glibc
import Platform
import TestSupport

/// Says just the bytes that a test wants said, and reads what comes back.
final class WireClient {
  private let descriptor: FileDescriptor
  private var unread: [UInt8] = []

  init(_ path: String) throws {
    descriptor = try UnixSocket.connect(to: path, timeout: .seconds(20))
    // What never comes must end the test, not hang it.
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(
      descriptor.rawValue, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// False once the daemon has closed the connection.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  @discardableResult
  func call(_ method: String, _ rest: String = "") -> Bool {
    send("{\"method\":\"\(method)\"\(rest)}\0")
  }

  func endSending() { shutdown(descriptor.rawValue, Int32(SHUT_WR)) }

  /// Makes the close a reset: the kernel drops what was not sent.
  func reset() {
    var none = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      descriptor.rawValue, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
  }

  /// Gives the kernel little room for what is not read yet.
  func narrow(to bytes: Int32) {
    var size = bytes
    setsockopt(
      descriptor.rawValue, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
  }

  func read(atMost count: Int) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let count = Glibc.read(descriptor.rawValue, &buffer, buffer.count)
    return Array(buffer.prefix(max(0, count)))
  }

  /// What was read is taken for unread again.
  func putBack(_ bytes: [UInt8]) { unread = bytes + unread }

  /// The next reply; nil where the daemon has closed, or nothing came in 30 s.
  func reply(inPiecesOf size: Int = 16_384) -> String? {
    var buffer = [UInt8](repeating: 0, count: size)
    var searched = 0
    while true {
      if let end = unread[searched...].firstIndex(of: 0) {
        defer { unread.removeSubrange(...end) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      searched = unread.count
      let count = Glibc.read(descriptor.rawValue, &buffer, buffer.count)
      if count <= 0 { return nil }
      unread += buffer[..<count]
    }
  }

  /// Whether the daemon closes the connection, whatever it still says.
  func isClosed() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = Glibc.read(descriptor.rawValue, &buffer, buffer.count)
      if count == 0 || (count < 0 && errno == ECONNRESET) { return true }
      if count < 0 { return false }
    }
  }
}

extension DaemonFixture {
  func connect() throws -> WireClient { try WireClient(socket) }

  /// A reply of a new connection.
  func ask(_ method: String, _ rest: String = "") throws -> String? {
    let client = try connect()
    client.call(method, rest)
    return client.reply()
  }

  var isServing: Bool {
    (try? ask("org.brewlog.Session.Status"))??.contains("\"generation\"") == true
  }

  /// How many descriptors the daemon has open.
  var descriptors: Int {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd").count
    }
  }

  /// The kilobytes of its private memory.
  var privateMemory: Int {
    get throws {
      let pid = try process.pid
      let data = FileManager.default.contents(atPath: "/proc/\(pid)/status") ?? Data()
      let line = String(decoding: data, as: UTF8.self).split(separator: "\n")
        .first { $0.hasPrefix("RssAnon:") }
      return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }
  }

  /// The seconds of processor time that it has used.
  var processorTime: Double {
    get throws {
      let pid = try process.pid
      let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") ?? Data()
      let fields = String(decoding: data, as: UTF8.self).split(separator: ")").last?
        .split(separator: " ")
      guard let fields, let user = Double(fields[11]), let system = Double(fields[12]) else {
        return 0
      }
      return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
  }

  /// Asks until it is so; false where that does not come in 30 s.
  func eventually(_ isMet: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<3_000 {
      if try isMet() { return true }
      // The daemon tells nobody by itself; no outcome depends on this pause.
      usleep(10_000)
    }
    return false
  }
}
