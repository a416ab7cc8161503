import Execution

/// Looks after a store that did not do all that it was asked: a rescued pair, a logout whose rows
/// are still there, a disk that took no write. It heals without anyone asking.
extension SessionCoordinator {
  /// Asks the store how it does, and again until all is well.
  func checkStore(after pause: Duration = .zero) {
    guard !isStopping, healthTimer == nil else { return }
    healthTimer = ground.schedule(at: ground.now.advanced(by: pause)) {
      Task(executorPreference: self.ground) { await self.askStore(pause) }
    }
  }

  func askStore(_ pause: Duration = .zero) async {
    healthTimer = nil
    let before = storeHealth
    let health = await store.settle()
    storeHealth = health
    let isWell = health == StoreHealth()
    if isWell, before != StoreHealth() {
      report(SessionEvent(.storeHealed, generation: machine.generation))
      // What a logout could not hand over before may wait there now.
      if before.unfinishedLogout != nil { announceRevocation() }
    } else if !isWell, before == StoreHealth() {
      report(
        SessionEvent(
          .storeDegraded, generation: machine.generation, detail: Self.words(for: health)))
    }
    if !isWell { checkStore(after: max(.seconds(1), min(pause * 2, .seconds(30)))) }
  }

  package static func words(for health: StoreHealth) -> String? {
    if let failure = health.failure { return "the store takes no writes: \(failure.reason)" }
    if health.isRescued {
      return "the newest credentials are in the rescue slot; the database does not take them yet"
    }
    return health.unfinishedLogout
  }
}
