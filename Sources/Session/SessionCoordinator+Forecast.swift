import Execution

/// When a person will have to sign in again.
extension SessionCoordinator {
  /// Nil where there is no session, or nothing to go by.
  func forecast(of facts: SessionFacts?, hasRefreshToken: Bool) -> LoginForecast? {
    guard let facts else { return nil }
    return LoginForecast.make(
      facts, canRefresh: hasRefreshToken || machine.policy.refreshesWithoutToken, lives: lives,
      now: ground.wallTime)
  }

  /// The life of the present session, if a refusal now tells something of it. One that follows a
  /// lost answer does not: the token may have been spent by that.
  func lifeRefusedNow() -> SessionLife? {
    guard let facts = machine.facts, machine.unknownOutcomes == 0 else { return nil }
    return SessionLife(facts, refusedAt: ground.wallTime)
  }

  /// It is history: a store that does not take it costs a forecast after the next start.
  func remember(_ life: SessionLife?) async {
    guard let life else { return }
    lives.append(life)
    lives = lives.suffix(LoginForecast.kept)
    try? await store.recordLife(life)
  }
}
