package import Execution
package import FoundationEssentials

/// For how long an answer may be served without asking again (RFC 9111, section 4.2), and for how
/// long after that when the upstream is away (RFC 5861, section 4). Pure.
package struct Freshness: Sendable {
  /// A clock that is disciplined goes back by no more than this.
  private static let longestDrift = Duration.seconds(300)

  /// Where the upstream is silent.
  package var defaultLifetime: Duration
  package var staleIfError: Duration
  /// The zone in which "today" begins and ends.
  package var dayZone: TimeZone

  package init(defaultLifetime: Duration, staleIfError: Duration, dayZone: TimeZone) {
    self.defaultLifetime = defaultLifetime
    self.staleIfError = staleIfError
    self.dayZone = dayZone
  }

  /// Whether a cached tip may be served without asking. A tip of the day that is not today's is
  /// not fresh, whatever its age.
  package func isFresh(_ cached: CachedTip, now: WallTime, maxAge: Duration?) -> Bool {
    // From a clock that has been set back since: how old it is nobody knows.
    if now.duration(to: cached.fetchedAt) > Self.longestDrift { return false }
    let age = age(of: cached, now: now)
    if let maxAge, age > maxAge || maxAge == .zero { return false }
    if maxAge == nil, age >= cached.freshFor { return false }
    return cached.key != .today || isOfToday(cached, now: now)
  }

  /// Whether it may be served as stale because the upstream cannot be asked.
  package func mayServeStale(_ cached: CachedTip, now: WallTime) -> Bool {
    age(of: cached, now: now) < cached.freshFor + (cached.staleIfError ?? staleIfError)
  }

  /// Whether it may be served at once while it is asked for again (RFC 5861, section 3).
  package func mayRevalidateBehind(_ cached: CachedTip, now: WallTime) -> Bool {
    let age = age(of: cached, now: now)
    guard age >= cached.freshFor, age < cached.freshFor + cached.staleWhileRevalidate else {
      return false
    }
    return cached.key != .today || isOfToday(cached, now: now)
  }

  /// Never negative: a clock that was set back does not make a tip younger than new.
  package func age(of cached: CachedTip, now: WallTime) -> Duration {
    max(.zero, cached.fetchedAt.duration(to: now))
  }

  /// Without a date, the day on which it was fetched is its day.
  package func isOfToday(_ cached: CachedTip, now: WallTime) -> Bool {
    day(of: now) == (cached.tip.date ?? day(of: cached.fetchedAt))
  }

  /// YYYY-MM-DD in the day zone.
  package func day(of moment: WallTime) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = dayZone
    let date = Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000)
    let parts = calendar.dateComponents([.year, .month, .day], from: date)
    func pad(_ number: Int?, _ width: Int) -> String {
      let digits = String(number ?? 0)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return "\(pad(parts.year, 4))-\(pad(parts.month, 2))-\(pad(parts.day, 2))"
  }

  /// How long the day of `moment` lasts on; at least a second.
  package func untilMidnight(_ moment: WallTime) -> Duration {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = dayZone
    let date = Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000)
    guard let tomorrow = calendar.date(byAdding: .day, value: 1, to: calendar.startOfDay(for: date))
    else { return .seconds(3600) }
    return max(.seconds(1), .milliseconds(Int64(tomorrow.timeIntervalSince(date) * 1000)))
  }
}
