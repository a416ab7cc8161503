import Glibc
import Platform

/// Binds the daemon's own socket, where systemd has passed none.
enum Listening {
  /// The runtime directory is made where it is the daemon's to make. A group that does not resolve is
  /// a warning: the socket keeps the daemon's own.
  static func bind(
    _ places: Places, mode: UInt32, group: String?, makesDirectory: Bool, log: Log
  ) throws(SocketError) -> BoundSocket {
    if makesDirectory { makeDirectory(places.runtime) }
    let bound = try UnixSocket.listen(at: places.socket, mode: mode, backlog: 4_096)
    if let group {
      if let gid = Accounts.groupID(of: group) {
        if lchown(places.socket, UInt32.max, gid) != 0 {
          log(.warning, "\(places.socket): cannot be given to the group \(group); run as root or join it")
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
