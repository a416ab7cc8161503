import CLinux
import Glibc

/// Who is at the other end of a Unix socket, as the kernel recorded it when the connection was
/// made; a peer cannot forge it. unix(7), SO_PEERCRED and SO_PEERGROUPS.
package struct PeerCredentials: Sendable, Hashable {
  package let pid: Int32
  package let uid: UInt32
  package let gid: UInt32
  /// The supplementary groups; empty where the kernel does not tell.
  package let groups: [UInt32]

  package init(pid: Int32, uid: UInt32, gid: UInt32, groups: [UInt32]) {
    self.pid = pid
    self.uid = uid
    self.gid = gid
    self.groups = groups
  }
}

/// Why a socket's path could not be bound or reached.
package enum SocketError: Error, Equatable, Sendable, CustomStringConvertible {
  case pathTooLong(path: String, length: Int, limit: Int)
  case directoryMissing(path: String)
  /// Another process serves this path; its pid, if it could be read.
  case inUse(path: String, holder: Int32?)
  /// Something that is no socket has the name; it is left alone.
  case notASocket(path: String)
  case system(SystemError)

  package var description: String {
    switch self {
    case .pathTooLong(let path, let length, let limit):
      "the socket path \(path) has \(length) bytes, and the system takes \(limit) at most: "
        + "choose a shorter one"
    case .directoryMissing(let path):
      "the directory of the socket \(path) does not exist: create it, or let systemd do so "
        + "(RuntimeDirectory=)"
    case .inUse(let path, let holder):
      "another process\(holder.map { " (pid \($0))" } ?? "") serves \(path) already: stop it first, "
        + "or choose another path"
    case .notASocket(let path):
      "\(path) exists and is not a socket: move it away, or choose another path"
    case .system(let error):
      error.description
    }
  }
}

/// Stream sockets in the file system, unix(7).
package enum UnixSocket {
  /// The bytes of a path that `sun_path` holds beside its final zero.
  package static let longestPath = 107

  /// Binds and listens, non-blocking and close-on-exec.
  ///
  /// A lock file (`path` + ".lock") is held as long as the socket is bound, so that of two servers
  /// that start at once one is refused. A socket file that a dead server has left is replaced only
  /// under that lock and only if nobody answers on it: a server that holds no lock (another
  /// program, an older release) is not robbed of its name.
  package static func listen(
    at path: String, mode: UInt32, backlog: Int32
  ) throws(SocketError) -> BoundSocket {
    try BoundSocket(path: path, mode: mode, backlog: backlog)
  }

  /// The next connection, non-blocking and close-on-exec; nil if none waits. One that its client
  /// has given up meanwhile is skipped.
  package static func accept(from listener: Int32) throws(SystemError) -> FileDescriptor? {
    while true {
      let descriptor = retryingInterrupts { clinux_accept(listener) }
      if descriptor >= 0 { return FileDescriptor(owning: descriptor) }
      switch errno {
      case EAGAIN: return nil
      case ECONNABORTED, EPROTO: continue
      default: throw .last("accept a connection")
      }
    }
  }

  /// A blocking connection, close-on-exec. With a `timeout` the wait for a server whose queue is
  /// full ends after it, with EAGAIN.
  package static func connect(
    to path: String, timeout: Duration? = nil
  ) throws(SocketError) -> FileDescriptor {
    let address = try address(for: path)
    let socket = try create(flags: 0)
    if let timeout {
      // Zero would mean no limit, socket(7).
      let microseconds = max(1, timeout / .microseconds(1))
      var limit = timeval(
        tv_sec: Int(microseconds / 1_000_000),
        tv_usec: Int(microseconds.truncatingRemainder(dividingBy: 1_000_000)))
      setsockopt(
        socket.rawValue, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    guard withSocketAddress(address, { Glibc.connect(socket.rawValue, $0, $1) }) == 0 else {
      throw .system(.last("connect to \(path)"))
    }
    return socket
  }

  /// Who is connected, from the kernel.
  package static func peer(of descriptor: Int32) throws(SystemError) -> PeerCredentials {
    var peer = clinux_peer()
    guard clinux_peer_credentials(descriptor, &peer) == 0 else {
      throw .last("read the credentials of a peer")
    }
    return PeerCredentials(
      pid: peer.pid, uid: peer.uid, gid: peer.gid, groups: groups(of: descriptor))
  }

  private static func groups(of descriptor: Int32) -> [UInt32] {
    var count = 32
    // A second try has the room that the kernel asked for in the first.
    for _ in 0..<2 {
      var groups = [UInt32](repeating: 0, count: count)
      if clinux_peer_groups(descriptor, &groups, &count) == 0 {
        return Array(groups.prefix(count))
      }
      if errno != ERANGE { return [] }
    }
    return []
  }

  // MARK: Shared with BoundSocket

  static func create(flags: Int32) throws(SocketError) -> FileDescriptor {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags
    let descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { throw .system(.last("create a socket")) }
    return FileDescriptor(owning: descriptor)
  }

  static func address(for path: String) throws(SocketError) -> sockaddr_un {
    let bytes = Array(path.utf8)
    guard bytes.count <= longestPath else {
      throw .pathTooLong(path: path, length: bytes.count, limit: longestPath)
    }
    // An empty path or a zero byte would name something else: the abstract namespace.
    guard !bytes.isEmpty, !bytes.contains(0) else {
      throw .system(SystemError(operation: "use the socket path '\(path)'", code: EINVAL))
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return address
  }

  static func withSocketAddress(
    _ address: sockaddr_un, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        retryingInterrupts { call(address, socklen_t(MemoryLayout<sockaddr_un>.size)) }
      }
    }
  }
}
