package import Execution
import Session

extension TipService {
  /// A tip that is fresh, and the span of the wall clock in which just this is the answer: it is
  /// fresh in all of it, and no second older. Nil: ``immediate(_:_:)`` has to answer. Whoever keeps
  /// it forgets it when the cache changes, and while the session's gate is shut.
  package func fresh(_ key: TipKey) -> (entry: TipEntry, holds: Range<WallTime>)? {
    guard coordinator.gate.isOpen, let cached = cache[key] else { return nil }
    let now = ground.wallTime
    guard freshness.isFresh(cached, now: now, maxAge: nil) else { return nil }
    counters.cacheHits += 1
    return (entry(cached, .cache, now), now..<end(of: cached, now))
  }

  /// Up to when it is so; at least the millisecond that the clock tells apart.
  private func end(of tip: CachedTip, _ now: WallTime) -> WallTime {
    let age = freshness.age(of: tip, now: now)
    let end = now.advanced(by: .seconds(age.components.seconds + 1) - age)
    // A lifetime, or the day, that ends meanwhile does so at a moment that need not be known.
    let last = WallTime(milliseconds: end.milliseconds - 1)
    return freshness.isFresh(tip, now: last, maxAge: nil)
      ? end : WallTime(milliseconds: now.milliseconds + 1)
  }
}
