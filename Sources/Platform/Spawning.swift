package import Glibc

/// Starting programs, by posix_spawn(3).
package enum Spawning {
  /// Starts a program, looked for in PATH where its name has no slash, with exactly this environment.
  /// Its own name comes first among the arguments by itself. `prepare` says what its descriptors are.
  ///
  /// Whatever this process has blocked or ignored is its own affair: the child starts as from a
  /// shell. In a new session it has no terminal, until it opens one.
  package static func start(
    _ program: String, _ arguments: [String], environment: [String: String],
    inNewSession: Bool = false, _ prepare: (inout posix_spawn_file_actions_t) -> Void
  ) throws(SystemError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    prepare(&actions)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = SignalSet.of([])
    var all = SignalSet.everySignal
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    let signals = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
    posix_spawnattr_setflags(&attributes, inNewSession ? signals | setSession : signals)
    // C strings, with a null at the end of each list.
    let words = ([program] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for string in words + variables { free(string) } }
    var pid: pid_t = 0
    let code = posix_spawnp(&pid, program, &actions, &attributes, words, variables)
    guard code == 0 else { throw SystemError(operation: "start \(program)", code: code) }
    return pid
  }

  /// POSIX_SPAWN_SETSID (spawn.h), which Glibc's module lacks.
  private static let setSession: Int16 = 0x80
}
