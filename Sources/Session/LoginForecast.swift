package import Execution

/// What the end of one session told of how long the upstream lets sessions live. Kept over logouts;
/// holds no token.
package struct SessionLife: Hashable, Sendable {
  package var binding: UpstreamBinding
  package var account: String?
  package var signedInAt: WallTime
  /// When the upstream last took its refresh token; the sign-in, where it never did.
  package var lastGoodAt: WallTime
  /// When the upstream refused it.
  package var refusedAt: WallTime

  package init(
    binding: UpstreamBinding, account: String?, signedInAt: WallTime, lastGoodAt: WallTime,
    refusedAt: WallTime
  ) {
    self.binding = binding
    self.account = account
    self.signedInAt = signedInAt
    self.lastGoodAt = lastGoodAt
    self.refusedAt = refusedAt
  }

  /// Of a session whose refresh token was refused now.
  package init(_ facts: SessionFacts, refusedAt: WallTime) {
    self.init(
      binding: facts.binding, account: facts.account, signedInAt: facts.signedInAt,
      lastGoodAt: facts.lastRefreshAt ?? facts.signedInAt, refusedAt: refusedAt)
  }

  /// For how long it is known to have been good.
  var goodFor: Duration { signedInAt.duration(to: lastGoodAt) }
}

/// When a person will have to sign in again, as far as that can be told, and what says so. It only
/// informs: nothing is refreshed, sent or ended by it.
package struct LoginForecast: Equatable, Sendable {
  package enum Basis: Equatable, Sendable {
    /// Nothing can replace the access token, and it ends then.
    case accessTokenAlone
    /// The upstream said when the refresh token ends.
    case stated
    /// So long were earlier sessions of this account good, from their sign-in.
    case history(sessions: Int, shortest: Duration, longest: Duration)
  }

  package var neededBy: WallTime
  package var basis: Basis

  /// How many refused sessions of an account are looked at, the newest ones.
  static let considered = 8
  /// How many are kept, of all accounts together.
  package static let kept = 64
  /// One end may have had any cause; from two on they are a habit.
  static let fewest = 2

  /// The earliest of what there are grounds for; nil: there are none.
  ///
  /// `lives`: oldest first, of any upstream and account.
  package static func make(
    _ facts: SessionFacts, canRefresh: Bool, lives: [SessionLife], now: WallTime
  ) -> LoginForecast? {
    guard canRefresh else {
      return facts.accessTokenExpiresAt.map {
        LoginForecast(neededBy: $0, basis: .accessTokenAlone)
      }
    }
    let grounds = [stated(facts), habitual(facts, lives, now)].compactMap(\.self)
    return grounds.min { $0.neededBy < $1.neededBy }
  }

  /// An end that each refresh puts off is none, as long as the daemon refreshes before it.
  private static func stated(_ facts: SessionFacts) -> LoginForecast? {
    guard let end = facts.refreshTokenExpiresAt else { return nil }
    if facts.refreshEndMoves, let renewal = facts.accessTokenExpiresAt, renewal < end { return nil }
    return LoginForecast(neededBy: end, basis: .stated)
  }

  /// The middle one of the spans decides, the shorter of two: a few sessions that somebody revoked
  /// early change nothing. A session that has outlived it is measured by the longer ones alone.
  private static func habitual(
    _ facts: SessionFacts, _ lives: [SessionLife], _ now: WallTime
  ) -> LoginForecast? {
    let alike = lives.filter { $0.binding == facts.binding && $0.account == facts.account }
    let spans = alike.suffix(considered).map(\.goodFor).filter { $0 > .zero }.sorted()
    guard spans.count >= fewest else { return nil }
    let age = facts.signedInAt.duration(to: now)
    let middle = spans[(spans.count - 1) / 2]
    guard let span = middle > age ? middle : spans.first(where: { $0 > age }) else { return nil }
    return LoginForecast(
      neededBy: facts.signedInAt.advanced(by: span),
      basis: .history(sessions: spans.count, shortest: spans[0], longest: spans[spans.count - 1]))
  }

  /// The basis in words, a clause that stands alone.
  package var reason: String {
    switch basis {
    case .accessTokenAlone:
      return "there is no refresh token, and the access token ends then"
    case .stated:
      return "the upstream says that the refresh token ends then"
    case .history(let sessions, let shortest, let longest):
      let (low, high) = (Self.words(shortest), Self.words(longest))
      let spans = low == high ? "about \(low)" : "\(low) to \(high)"
      return "the upstream ended the last \(sessions) sessions of this account \(spans) "
        + "after their sign-in"
    }
  }

  /// In the largest unit that there are two of.
  private static func words(_ span: Duration) -> String {
    let seconds = span.secondsRoundedDown
    for (unit, length) in [("day", 86_400), ("hour", 3_600), ("minute", 60)]
    where seconds >= 2 * length {
      return "\((seconds + length / 2) / length) \(unit)s"
    }
    return seconds == 1 ? "1 second" : "\(seconds) seconds"
  }
}
