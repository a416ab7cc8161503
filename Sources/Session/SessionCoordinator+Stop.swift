import Execution

/// The end of the daemon.
extension SessionCoordinator {
  /// From here on every call is answered `stopping`; what is under way goes on.
  package func refuseCalls() {
    isStopping = true
    cancelRenewal()
  }

  /// No new calls; an exchange in flight is finished and stored; then the store is closed. Returns
  /// whether all credentials are on disk.
  package func stop() async -> Bool {
    refuseCalls()
    for task in orphans.values { task.cancel() }
    // The flight ends by its own deadline at the latest, and commits what it brings.
    if let task = flightTask { await task.value }
    do throws(StoreError) {
      if !isDurable { try await storePair() }
      // One that is under way already was asked for before: this one finds it done.
      _ = try await finishDestruction()
    } catch {
      report(SessionEvent(.storeDegraded, generation: machine.generation, detail: error.reason))
    }
    let stored = isDurable && destruction == nil
    await store.close()
    return stored
  }

  /// What a restart would restore, beside what is in memory, both of one moment: asked again where
  /// the generation or the token moved between the two.
  package func inspect() async throws(StoreError) -> (PersistedSession, SessionSnapshot) {
    while true {
      let before = machine.accessVersion
      var persisted = try await store.inspect()
      persisted.loginForecast = forecast(
        of: persisted.facts, hasRefreshToken: persisted.refreshToken != nil)
      if before == machine.accessVersion { return (persisted, snapshot()) }
    }
  }
}
