import Execution

/// Decides whether the service manager is told that the daemon is well. A value: it is given what
/// was seen since the last look.
///
/// The look itself is made on the loop, so a loop that hangs makes none. The coordinator lives there
/// as well: it is in order while no refresh holds the slot longer than any could. The store's thread
/// has answered, or has been waiting for a lock that another process holds, which is bounded.
///
/// While a pair is on its way to the store the process is not given up: killed, it would lose tokens
/// that nobody can have again (I5).
struct WatchdogMachine: Equatable, Sendable {
  struct Sight: Equatable, Sendable {
    var coordinatorAnswers = true
    var pairIsUnstored = false
    /// The question of the last look was answered.
    var storeAnswers = true
    /// How often the store has waited for a lock, since it was opened.
    var storeWaits: UInt64 = 0
  }

  private var waits: UInt64 = 0

  /// Whether to feed the watchdog.
  mutating func look(_ sight: Sight) -> Bool {
    let isWaiting = sight.storeWaits != waits
    waits = sight.storeWaits
    if sight.pairIsUnstored { return true }
    return sight.coordinatorAnswers && (sight.storeAnswers || isWaiting)
  }
}
