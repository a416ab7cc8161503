import Execution
import Secrets

/// What the coordinator does unasked: refresh before expiry, and write what could not be written.
extension SessionCoordinator {
  func scheduleRenewal() {
    cancelRenewal()
    guard !isStopping, let due = machine.renewalTime(jitter: entropy.fraction()),
      due != .distantFuture
    else { return }
    renewalTimer = ground.schedule(at: max(due, ground.now)) {
      self.assumeIsolated { $0.renew() }
    }
  }

  func cancelRenewal() {
    if let timer = renewalTimer { ground.cancel(timer) }
    renewalTimer = nil
  }

  private func renew() {
    renewalTimer = nil
    if case .start(let flight) = machine.demand(.renewal, now: ground.now) { launch(flight) }
  }

  /// Writes the present pair again until the store takes it (the exception to I5).
  func scheduleRewrite(after pause: Duration) {
    guard !isStopping else { return }
    _ = ground.schedule(at: ground.now.advanced(by: pause)) {
      Task(executorPreference: self.ground) { await self.rewrite(pause) }
    }
  }

  /// Beside a flight this puts no older pair on disk: that one writes the present pair before it
  /// sends anything, and the store takes what it is given in order.
  private func rewrite(_ pause: Duration) async {
    guard !isDurable else { return }
    do throws(StoreError) {
      try await storePair()
    } catch {
      scheduleRewrite(after: min(pause * 2, .seconds(30)))
    }
  }

  /// Writes the pair that is held in memory only.
  func storePair() async throws(StoreError) {
    guard let facts = machine.facts else { return }
    let version = machine.accessVersion
    let copy: TokenPair
    do throws(SecretError) {
      copy = try pair.copy()
    } catch {
      throw .failed("no locked memory is left for a token; raise the memlock limit")
    }
    try await store.commit(SessionRecord(facts: facts, pair: copy), permit: permit(for: facts))
    // A newer pair may have come meanwhile; its own commit speaks for it.
    guard version == machine.accessVersion, !isDurable else { return }
    isDurable = true
    report(SessionEvent(.storeHealed, generation: facts.generation))
  }
}
