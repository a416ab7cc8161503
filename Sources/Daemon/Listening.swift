import Configuration
import Glibc
import Platform

/// Binds the daemon's own socket, where systemd has passed none.
enum Listening {
  /// The runtime directory: a tombstone lies there, too.
  static func directory(of path: String) -> String {
    "/" + path.split(separator: "/").dropLast().joined(separator: "/")
  }

  /// The runtime directory is made where it is the daemon's to make. A group that does not resolve is
  /// a warning: the socket keeps the daemon's own.
  static func bind(
    _ socket: DaemonConfiguration.Socket, log: Log
  ) throws(SocketError) -> BoundSocket {
    makeDirectory(directory(of: socket.path))
    let bound = try UnixSocket.listen(at: socket.path, mode: socket.mode, backlog: 4_096)
    if let group = socket.group {
      if let gid = Accounts.groupID(of: group) {
        if lchown(socket.path, UInt32.max, gid) != 0 {
          log(
            .warning,
            "\(socket.path) cannot be given to the group \(group); run as root or join it")
        }
      } else {
        log(
          .warning,
          "[Socket] Group=: there is no group \(group); the socket keeps the daemon's own")
      }
    }
    return bound
  }

  /// Others must be able to pass through to the socket; its own mode says who may connect. What
  /// cannot be made is said by the bind.
  private static func makeDirectory(_ path: String) {
    if mkdir(path, 0o755) == 0 { chmod(path, 0o755) }
  }
}
