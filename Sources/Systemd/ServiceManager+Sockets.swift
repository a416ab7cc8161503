import CSystemd
import Glibc
package import Platform

/// Why a passed socket cannot be served. A unit file is wrong then, and a restart changes nothing.
package enum PassedSocketError: Error, Equatable, Sendable, CustomStringConvertible {
  case tooMany(Int)
  /// What it is, in words.
  case wrongKind(String)
  case system(SystemError)

  package var description: String {
    switch self {
    case .tooMany(let count):
      "\(count) sockets were passed (LISTEN_FDS), and one is served: keep one ListenStream= in the "
        + "socket unit"
    case .wrongKind(let kind):
      "the socket that was passed (LISTEN_FDS) is \(kind), and a listening Unix stream socket is "
        + "needed: give the socket unit one ListenStream= with a path, and Accept=no"
    case .system(let error): error.description
    }
  }
}

/// A listening socket that the service manager has bound. Its name in the file system is the
/// manager's: it outlives this process, so that clients queue over a restart, and is never removed
/// here.
package struct PassedSocket: ~Copyable, Sendable {
  package let listener: FileDescriptor
  /// Where it is bound; empty for an abstract name.
  package let path: String

  package consuming func takeListener() -> FileDescriptor { listener }
}

extension ServiceManager {
  /// The socket that this process was started with, sd_listen_fds(3); nil: there is none, or it is
  /// meant for another process. Takes the variables out of the environment, so that no child
  /// believes them, and sets close-on-exec. Once, before any thread.
  package static func takePassedSocket() throws(PassedSocketError) -> PassedSocket? {
    let count = csystemd_take_passed_descriptors()
    if count == 0 { return nil }
    guard count > 0 else {
      throw .system(SystemError(operation: "read LISTEN_FDS and LISTEN_PID", code: -count))
    }
    guard count == 1 else { throw .tooMany(Int(count)) }
    let socket = FileDescriptor(owning: csystemd_first_passed_descriptor())
    if let fault = fault(of: socket.rawValue) { throw .wrongKind(fault) }
    let flags = fcntl(socket.rawValue, F_GETFL)
    guard flags >= 0, fcntl(socket.rawValue, F_SETFL, flags | O_NONBLOCK) >= 0 else {
      throw .system(.last("make the passed socket non-blocking"))
    }
    let path = path(of: socket.rawValue)
    return PassedSocket(listener: socket, path: path)
  }

  /// What keeps a descriptor from being served.
  private static func fault(of descriptor: Int32) -> String? {
    guard let domain = option(SO_DOMAIN, of: descriptor) else { return "not a socket" }
    guard domain == AF_UNIX else {
      return domain == AF_INET || domain == AF_INET6 ? "an Internet socket" : "of another family"
    }
    guard option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue) else {
      return "a Unix socket, but not a stream"
    }
    guard option(SO_ACCEPTCONN, of: descriptor) == 1 else {
      return "not listening (a connection, as with Accept=yes)"
    }
    return nil
  }

  private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 else { return nil }
    return value
  }

  private static func path(of descriptor: Int32) -> String {
    var address = sockaddr_un()
    var size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &size)
      }
    }
    guard result == 0 else { return "" }
    return withUnsafeBytes(of: address.sun_path) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
