/// Which daemon is meant, where its socket is and how it is started.
package struct SocketPlace: Sendable, Hashable {
  package let path: String
  /// Whether the daemon of one user is meant.
  package let isOwn: Bool
  /// What starts it; nil where the socket was named and its unit is not known.
  package let startCommand: String?
  /// The accounts that it may run as, besides root and the caller.
  package let daemonUsers: [String]

  /// What `sun_path` holds beside its zero: unix(7).
  private static let longestPath = 107

  /// The same daemon at another path.
  func at(_ path: String) -> SocketPlace {
    SocketPlace(path: path, isOwn: isOwn, startCommand: startCommand, daemonUsers: daemonUsers)
  }

  private init(path: String, isOwn: Bool, startCommand: String?, daemonUsers: [String]) {
    self.path = path
    self.isOwn = isOwn
    self.startCommand = startCommand
    self.daemonUsers = daemonUsers
  }

  package init(
    socket: String?, user: Bool, instance: String?, environment: CLIEnvironment
  ) throws(CommandFailure) {
    if let instance {
      let allowed = instance.utf8.allSatisfy {
        ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39)
          || [0x2D, 0x2E, 0x5F].contains($0)
      }
      guard allowed, !instance.isEmpty, instance != ".", instance != "..", instance.utf8.count <= 64
      else {
        throw CommandFailure(
          .usage,
          "--instance takes a name of at most 64 letters, digits, \"-\", \"_\" and \".\"",
          remedy: "How it is used: brewlogctl --help")
      }
    }
    isOwn = user
    daemonUsers = user ? [] : ["brewlog"] + (instance.map { ["brewlog-" + $0] } ?? [])
    if let socket {
      if socket.isEmpty {
        throw CommandFailure(
          .usage, "--socket needs PATH, but was given nothing",
          remedy: "How it is used: brewlogctl --help")
      }
      if socket.utf8.count > Self.longestPath {
        throw CommandFailure(
          .usage,
          "--socket: a socket's path has at most \(Self.longestPath) bytes, not \(socket.utf8.count)",
          remedy: "Go to its directory and name it from there: --socket ./brewlog.sock")
      }
      path = socket
      startCommand = nil
      return
    }
    let suffix = instance.map { "@" + $0 } ?? ""
    let runtime =
      user
      ? environment.variables["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
        ?? "/run/user/\(environment.uid)"
      : "/run"
    path = "\(runtime)/brewlog\(suffix)/brewlog.sock"
    startCommand =
      user
      ? "systemctl --user start brewlogd\(suffix).socket"
      : "sudo systemctl start brewlogd\(suffix).socket"
  }
}
