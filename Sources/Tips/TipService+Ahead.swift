import Execution
import Requests
import Session

/// What the service asks for before anyone does: the day's first tip, so that no client waits for
/// it, and whatever tells that an upstream is back.
extension TipService {
  /// Lets the requester use the tip of the day as its probe; before the start.
  package func serveAsProbe() async {
    await requester.probe { [self] in await probeUpstream() }
  }

  private func probeUpstream() async {
    _ = try? await fetch(.today, TipDemand(maxAge: .zero, wait: .seconds(30)))
  }

  /// A wall clock that is set makes another hour of it: midnight is looked for anew that often.
  private static let longestLook = Duration.seconds(3_600)

  /// The next look ahead: a little after midnight in the day zone, spread so that hosts do not all
  /// ask in the same second. Only for those who have asked for a tip of the day before.
  func scheduleAhead() {
    if let timer = aheadTimer { ground.cancel(timer) }
    aheadTimer = nil
    guard cache[.today] != nil else { return }
    let rest = freshness.untilMidnight(ground.wallTime)
    let wait = rest <= Self.longestLook ? rest + .seconds(60) * spread() : Self.longestLook
    aheadTimer = ground.schedule(at: ground.now.advanced(by: wait)) {
      Task(executorPreference: self.ground) { await self.lookAhead() }
    }
  }

  private func lookAhead() async {
    aheadTimer = nil
    // What was fetched on this day has been looked at; a look that failed is made again.
    if let held = cache[.today],
      freshness.day(of: held.fetchedAt) != freshness.day(of: ground.wallTime)
    {
      _ = try? await fetch(.today, TipDemand(wait: .seconds(30)))
    }
    if aheadTimer == nil { scheduleAhead() }
  }

  func cancelAhead() {
    if let timer = aheadTimer { ground.cancel(timer) }
    aheadTimer = nil
  }
}
