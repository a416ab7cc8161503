import Execution

/// What a watchdog asks.
extension SessionCoordinator {
  /// A refresh holds the slot longer than its exchange (twice the deadline) and the store's bounded
  /// waits can explain: its task will not end, and nobody can refresh any more.
  package var isOverdue: Bool {
    guard machine.flight != nil, let flightStarted else { return false }
    return flightStarted.duration(to: ground.now) > machine.policy.deadline * 2 + .seconds(60)
  }

  /// A pair is in memory only, or on its way to the disk: whoever ends the process now loses it.
  package var pairIsUnstored: Bool {
    pairsBeingStored > 0 || (!isDurable && machine.facts != nil)
  }

  /// A stop has to wait for an exchange or for the store.
  package var isFinishing: Bool {
    flightTask != nil || pairIsUnstored
  }

  /// How many callers wait for the refresh under way.
  package var waiting: Int { waiters.count }
}
