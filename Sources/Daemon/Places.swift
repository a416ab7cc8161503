/// Where the daemon keeps its state and its socket: the system's places, the user's, or those that
/// systemd names (`STATE_DIRECTORY`, `RUNTIME_DIRECTORY`; systemd.exec(5)).
struct Places: Equatable {
  var state: String
  var runtime: String
  var socket: String

  /// Nil where a needed variable is missing; the text names it.
  struct Missing: Error, Equatable {
    var message: String
  }

  static func find(
    _ options: DaemonOptions, environment: [String: String], directory: String?, socket: String?
  ) throws(Missing) -> Places {
    let suffix = options.instance.map { "@\($0)" } ?? ""
    let runtime: String
    let state: String
    if options.isUser {
      runtime = try base("XDG_RUNTIME_DIR", environment) + "/brewlog" + suffix
      let home = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      state =
        try home.map { $0 + "/brewlog" + suffix }
        ?? base("HOME", environment) + "/.local/state/brewlog" + suffix
    } else {
      runtime = "/run/brewlog" + suffix
      state = given("STATE_DIRECTORY", environment) ?? "/var/lib/brewlog" + suffix
    }
    // A socket elsewhere takes the tombstone with it: both are gone with the machine's next start.
    let path = socket ?? runtime + "/brewlog.sock"
    let folder = path.split(separator: "/").dropLast().joined(separator: "/")
    return Places(
      state: directory ?? state, runtime: socket == nil ? runtime : "/" + folder, socket: path)
  }

  private static func base(
    _ name: String, _ environment: [String: String]
  ) throws(Missing) -> String {
    guard let value = environment[name], value.hasPrefix("/") else {
      throw Missing(message: "--user needs \(name) to name a directory; log in properly or set it")
    }
    return value
  }

  /// systemd lists several directories with colons; ours is the first.
  private static func given(_ name: String, _ environment: [String: String]) -> String? {
    environment[name]?.split(separator: ":").first.map { String($0) }
  }
}
