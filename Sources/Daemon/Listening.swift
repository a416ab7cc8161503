import Configuration
import Glibc
import Platform

/// Binds the daemon's own socket, where systemd has passed none.
enum Listening {
  /// The runtime directory: a tombstone lies there, too.
  static func directory(of path: String) -> String {
    "/" + path.split(separator: "/").dropLast().joined(separator: "/")
  }

  /// The runtime directory is made where it is the daemon's to make.
  static func bind(
    _ socket: DaemonConfiguration.Socket, _ accounts: AccountNames, log: Log
  ) throws(SocketError) -> BoundSocket {
    makeDirectory(directory(of: socket.path))
    let bound = try UnixSocket.listen(at: socket.path, mode: socket.mode, backlog: 4_096)
    setGroup(socket, accounts, log: log)
    return bound
  }

  /// A group that does not resolve is a warning: the socket keeps the daemon's own.
  static func setGroup(
    _ socket: DaemonConfiguration.Socket, _ accounts: AccountNames, log: Log
  ) {
    guard let group = socket.group else { return }
    guard let gid = accounts.groupID(of: group) else {
      log(
        .warning,
        "[Socket] Group=: there is no group \(group); the socket keeps the daemon's own")
      return
    }
    // Under the unit there is no chown(2), and no need of one: the group is the daemon's own.
    var status = stat()
    if lstat(socket.path, &status) == 0, status.st_gid == gid { return }
    if lchown(socket.path, UInt32.max, gid) != 0 {
      log(
        .warning, "\(socket.path) cannot be given to the group \(group); run as root or join it")
    }
  }

  /// Others must be able to pass through to the socket; its own mode says who may connect. What
  /// cannot be made is said by the bind.
  static func makeDirectory(_ path: String) {
    if mkdir(path, 0o755) == 0 { chmod(path, 0o755) }
  }

  /// Answers those who wait at a passed socket with an end of file. Left in the queue they would
  /// have systemd start a service again, at once and for ever, that cannot start; so each client
  /// costs one start, and the socket is there still when the fault has been mended.
  static func turnAway(_ listener: Int32) {
    while let connection = try? UnixSocket.accept(from: listener) { _ = consume connection }
  }
}
