import Execution
import Testing

@testable import Session

/// When a sign-in is needed again, and what says so.
@Suite(.timeLimit(.minutes(1)))
struct LoginForecastTests {
  private static let day = Duration.seconds(86_400)
  private static let signedIn = WallTime(milliseconds: 1_700_000_000_000)
  private static let binding = UpstreamBinding(
    issuer: "https://id.example", clientID: "brewlog", apiOrigin: "https://api.example")

  private func facts(
    access: Duration? = .seconds(3600), refresh: Duration? = nil, moves: Bool = false
  ) throws -> SessionFacts {
    let id = try #require(SessionID(bytes: [UInt8](repeating: 1, count: 16)))
    var facts = SessionFacts(
      id: id, generation: Generation(1), binding: Self.binding, account: "ada",
      accountVerified: true, signedInAt: Self.signedIn, scope: nil,
      accessTokenReceivedAt: Self.signedIn,
      accessTokenExpiresAt: access.map { Self.signedIn.advanced(by: $0) },
      refreshTokenExpiresAt: refresh.map { Self.signedIn.advanced(by: $0) })
    facts.refreshEndMoves = moves
    return facts
  }

  /// Sessions of long ago that were good for so many days.
  private func lives(
    _ days: Double..., account: String? = "ada", binding: UpstreamBinding = Self.binding
  ) -> [SessionLife] {
    days.enumerated().map { index, days in
      let start = Self.signedIn.advanced(by: Self.day * -(1_000 - index * 100))
      let end = start.advanced(by: .seconds(Int(days * 86_400)))
      return SessionLife(
        binding: binding, account: account, signedInAt: start, lastGoodAt: end,
        refusedAt: end.advanced(by: .seconds(3600)))
    }
  }

  private func make(
    _ facts: SessionFacts, canRefresh: Bool = true, _ lives: [SessionLife] = [],
    after age: Duration = .zero
  ) -> LoginForecast? {
    LoginForecast.make(
      facts, canRefresh: canRefresh, lives: lives, now: Self.signedIn.advanced(by: age))
  }

  private func days(_ forecast: LoginForecast?) -> Int? {
    forecast.map { Self.signedIn.duration(to: $0.neededBy).secondsRoundedDown / 86_400 }
  }

  @Test func `nothing to go by gives no forecast`() throws {
    #expect(make(try facts()) == nil)
    #expect(make(try facts(access: nil), canRefresh: false) == nil)
  }

  @Test func `what cannot be refreshed ends with its access token`() throws {
    let forecast = try #require(make(try facts(refresh: Self.day), canRefresh: false, lives(9, 9)))
    #expect(Self.signedIn.duration(to: forecast.neededBy) == .seconds(3600))
    #expect(forecast.basis == .accessTokenAlone)
    #expect(forecast.reason.contains("no refresh token"))
  }

  @Test func `the upstream's word counts`() throws {
    let forecast = try #require(make(try facts(refresh: Self.day * 14)))
    #expect(days(forecast) == 14)
    #expect(forecast.basis == .stated)
    #expect(forecast.reason.contains("the upstream says"))
  }

  @Test func `an end that every refresh puts off is none, if a refresh comes before it`() throws {
    #expect(make(try facts(refresh: Self.day, moves: true)) == nil)
    // No refresh is due by itself: the token may lie unused until its end.
    #expect(days(make(try facts(access: nil, refresh: Self.day, moves: true))) == 1)
    #expect(days(make(try facts(access: Self.day * 2, refresh: Self.day, moves: true))) == 1)
  }

  struct Past: Sendable, CustomTestStringConvertible {
    var days: [Double]
    var age = 0
    var expected: Int?
    var words = ""
    var testDescription: String { "\(days) at the age of \(age) days" }
  }

  @Test(arguments: [
    Past(days: [30], expected: nil),
    Past(days: [30, 30], expected: 30, words: "the last 2 sessions of this account about 30 days"),
    Past(days: [29, 31], expected: 29, words: "29 days to 31 days"),
    // One that somebody ended early changes nothing, wherever it stands.
    Past(days: [2, 30, 30], expected: 30, words: "2 days to 30 days"),
    Past(days: [30, 2, 30], expected: 30), Past(days: [30, 30, 2], expected: 30),
    // Nor does one that was refused before its first refresh.
    Past(days: [0, 0, 30], expected: nil), Past(days: [0, 30, 30], expected: 30),
    // Only the newest eight count.
    Past(days: [90, 90, 90, 7, 7, 7, 7, 7, 7, 7, 7], expected: 7, words: "last 8 sessions"),
    // It has outlived some of them, and then all.
    Past(days: [7, 7, 30], age: 8, expected: 30), Past(days: [7, 7, 30], age: 31, expected: nil),
    Past(days: [7, 7], age: 7, expected: nil),
  ])
  func `how long earlier sessions lived counts from the second one on`(past: Past) throws {
    var lives: [SessionLife] = []
    for (index, days) in past.days.enumerated() {
      var life = try #require(self.lives(days).first)
      life.refusedAt = life.refusedAt.advanced(by: .seconds(index))
      lives.append(life)
    }
    let forecast = make(try facts(), lives, after: Self.day * past.age)
    #expect(days(forecast) == past.expected)
    if !past.words.isEmpty { #expect(forecast?.reason.contains(past.words) == true) }
  }

  @Test func `sessions of another account, client or upstream tell nothing`() throws {
    var other = Self.binding
    other.clientID = "another"
    let strange = lives(3, 3, account: "grace") + lives(4, 4, account: nil)
    #expect(make(try facts(), strange + lives(5, 5, binding: other)) == nil)
    #expect(days(make(try facts(), strange + lives(6, 6))) == 6)
  }

  @Test func `the earlier of word and habit is said`() throws {
    let history = try #require(make(try facts(refresh: Self.day * 90), lives(30, 30)))
    #expect(days(history) == 30)
    #expect(history.basis == .history(sessions: 2, shortest: Self.day * 30, longest: Self.day * 30))
    #expect(days(make(try facts(refresh: Self.day * 14), lives(30, 30))) == 14)
  }

  @Test(arguments: [
    (1, "1 second"), (100, "100 seconds"), (7_000, "117 minutes"), (7_200, "2 hours"),
    (172_799, "48 hours"), (172_800, "2 days"),
  ])
  func `spans are said in the largest unit that there are two of`(
    seconds: Int, words: String
  ) {
    let forecast = LoginForecast(
      neededBy: Self.signedIn,
      basis: .history(sessions: 2, shortest: .seconds(seconds), longest: .seconds(seconds)))
    #expect(forecast.reason.contains("about \(words) after"))
  }

  @Test func `a new token whose end was not said has none that is known`() throws {
    var facts = try facts(refresh: Self.day)
    facts.follow(refreshEnd: nil, isReplaced: false)
    #expect(facts.refreshTokenExpiresAt == Self.signedIn.advanced(by: Self.day))
    facts.follow(refreshEnd: nil, isReplaced: true)
    #expect(facts.refreshTokenExpiresAt == nil)
  }

  @Test func `an end that stands still does not move, one that is put off does`() throws {
    var facts = try facts(refresh: Self.day)
    facts.follow(refreshEnd: Self.signedIn.advanced(by: Self.day + .seconds(2)), isReplaced: true)
    #expect(!facts.refreshEndMoves)
    facts.follow(refreshEnd: Self.signedIn.advanced(by: Self.day * 2), isReplaced: true)
    #expect(facts.refreshEndMoves)
    facts.follow(refreshEnd: Self.signedIn.advanced(by: Self.day * 2), isReplaced: true)
    #expect(facts.refreshEndMoves)
  }
}
