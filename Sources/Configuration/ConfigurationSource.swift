/// Which configuration is meant, and the places that go with it (the table in
/// contract/command-line.md): where its files are, where state and socket go if nothing is said.
package struct ConfigurationSource: Hashable, Sendable {
  package enum Scope: Hashable, Sendable {
    case system
    /// The per-user places, for the user of this number.
    case user(UInt32)
  }

  package var scope: Scope
  package var instance: String?
  /// `--config FILE`: that file alone, no drop-ins.
  package var file: String?
  /// `STATE_DIRECTORY`, `HOME` and `XDG_*` are looked at.
  package var environment: [String: String]

  package init(
    scope: Scope = .system, instance: String? = nil, file: String? = nil,
    environment: [String: String]
  ) {
    self.scope = scope
    self.instance = instance
    self.file = file
    self.environment = environment
  }

  /// Whether a name may be an instance's: it becomes part of file names.
  package static func isInstanceName(_ name: String) -> Bool {
    let bytes = name.utf8
    guard (1...64).contains(bytes.count), bytes.first != UInt8(ascii: ".") else { return false }
    return bytes.allSatisfy { byte in
      isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
        || byte == UInt8(ascii: ".")
    }
  }

  /// Highest precedence first.
  var configurationDirectories: [String] {
    switch scope {
    case .system:
      ["/etc", "/run", "/usr/local/lib", "/usr/lib"].map { $0 + "/brewlog" }
    case .user:
      userDirectory("XDG_CONFIG_HOME", ".config").map { [$0 + "/brewlog"] } ?? []
    }
  }

  /// The stems of the main file and its drop-in directory; later ones override.
  var fileNames: [String] {
    ["brewlogd.conf"] + (instance.map { ["brewlogd@\($0).conf"] } ?? [])
  }

  /// Nil: the environment does not say enough.
  package var stateDirectory: String? {
    switch scope {
    case .system:
      // A unit may name several, separated by colons; the first is ours.
      let given = environment["STATE_DIRECTORY"]?.split(separator: ":").first
      return given.map { String($0) } ?? "/var/lib/" + programName
    case .user:
      return userDirectory("XDG_STATE_HOME", ".local/state").map { "\($0)/\(programName)" }
    }
  }

  /// Where the socket and a tombstone go. Nil: the environment does not say enough.
  package var runtimeDirectory: String? {
    switch scope {
    case .system: "/run/" + programName
    case .user: absolute("XDG_RUNTIME_DIR").map { "\($0)/\(programName)" }
    }
  }

  private var programName: String { instance.map { "brewlog@\($0)" } ?? "brewlog" }

  private func userDirectory(_ variable: String, _ belowHome: String) -> String? {
    absolute(variable) ?? absolute("HOME").map { "\($0)/\(belowHome)" }
  }

  /// Relative paths are to be ignored (XDG base directory specification).
  private func absolute(_ variable: String) -> String? {
    environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
