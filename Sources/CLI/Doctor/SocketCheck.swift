import Configuration
import Glibc
import Platform

extension Examination {
  mutating func checkSocket() {
    if isUnknown {
      add(.skipped("socket", "where it is stands in the configuration"))
      return
    }
    let path = socketPath
    if let configured = configuration?.socket.path, configured != path,
      context.arguments.value("--socket") == nil
    {
      add(
        .wrong(
          "socket", "the configuration puts it at \(configured), brewlogctl looks at \(path)",
          remedy: "Take Path= out of [Socket], or call brewlogctl with --socket \(configured)."))
      return
    }
    switch FileFacts.of(path) {
    case .failure(let error):
      switch error.code {
      case ENOENT, ENOTDIR:
        add(.wrong("socket", "\(path) is not there: brewlogd does not run", remedy: start))
      default:
        add(
          .wrong("socket", "\(path): \(SystemError.text(of: error.code))", remedy: asRoot ?? start))
      }
    case .success(let facts):
      guard facts.kind == .socket else {
        add(
          .wrong(
            "socket", "\(path) is no socket", remedy: "Move it away, then start brewlogd again."))
        return
      }
      checkGroup(path, facts)
    }
  }

  /// How the daemon that is looked at is started.
  var start: String {
    if let command = context.place.startCommand, !isNamed { return "Start it: \(command)" }
    return context.arguments.value("--config").map { "Start it: brewlogd --config \($0)" }
      ?? "Start brewlogd with this socket."
  }

  private mutating func checkGroup(_ path: String, _ facts: FileFacts) {
    let present = context.environment.groupOfFile(path) ?? "gid \(facts.gid)"
    let shown = "\(path), mode \(facts.octal), group \(present)"
    // A mode that gives a group nothing makes it of no account whose it is.
    guard let socket = configuration?.socket, socket.mode & 0o070 != 0, let group = socket.group
    else {
      add(.ok("socket", shown))
      return
    }
    guard let gid = Accounts.groupID(of: group) else {
      add(
        .wrong(
          "socket", "the group \"\(group)\" of Group= does not exist, so only brewlogd may connect",
          remedy: "Make it: sudo groupadd --system \(group), then restart brewlogd."))
      return
    }
    if facts.gid != gid {
      add(
        .wrong(
          "socket", "\(path) has the group \(present), but Group= is \(group)",
          remedy: isNamed
            ? "Restart brewlogd. It must be a member of \(group) to give the socket to it."
            : "Restart it: sudo systemctl restart brewlogd\(instance).socket. A drop-in of the unit "
              + "with SocketGroup= wins over Group=."))
      return
    }
    let mayConnect =
      context.environment.uid == 0 || facts.uid == context.environment.uid
      || FileFacts.ownGroups.contains(gid) || facts.mode & 0o002 != 0
    guard mayConnect else {
      add(
        .wrong(
          "socket", "you are not in the group \(group), which may connect",
          remedy: gid == 0
            ? "Root's group opens far more than a socket: set Group= in [Socket] to another one, "
              + "such as brewlog, or call it with sudo."
            : "sudo usermod -aG \(group) \"$USER\", then log in to this host again."))
      return
    }
    add(.ok("socket", shown))
  }
}
