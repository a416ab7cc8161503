import Execution
import Requests
import Session
import TestSupport
import Testing

@testable import Upstream

/// The forecast of the next sign-in, over the ends of several sessions: in virtual time.
@Suite(.timeLimit(.minutes(1)))
struct ForecastScenarioTests {
  private static let day = Duration.seconds(86_400)

  /// A session that is refreshed daily, and refused once it is so old.
  private func live(_ bench: VirtualBench, days: Int) throws {
    bench.api.script { _ in .normal }
    bench.api.begin()
    bench.api.setLifetime("86400")
    try bench.signIn(lifetime: Self.day)
    bench.ground.advance(by: Self.day * days)
    #expect(bench.isSignedIn)
    bench.api.answerRefreshes(.json(#"{"error":"invalid_grant"}"#, status: 400))
    bench.ground.advance(by: Self.day)
    #expect(!bench.isSignedIn)
  }

  @Test func `sessions that were refused at one age foretell the next one's end`() throws {
    let bench = try VirtualBench()
    try live(bench, days: 30)
    bench.api.begin()
    try bench.signIn()
    #expect(bench.snapshot.loginForecast == nil)
    let coordinator = bench.coordinator
    try bench.run { _ = try await coordinator.logout() }
    try live(bench, days: 30)
    try bench.restart()
    #expect(bench.snapshot.loginForecast == nil)
    bench.api.begin()
    let facts = try #require(try bench.signIn().facts)
    let forecast = try #require(bench.snapshot.loginForecast)
    // The last refresh before the refusal, a minute before a day's end.
    #expect(abs(facts.signedInAt.duration(to: forecast.neededBy) / Self.day - 30) < 0.1)
    #expect(forecast.reason.contains("about 30 days after"))
    // A logout was no refusal, and told nothing.
    #expect(bench.store.disk.lives.count == 2)
  }

  @Test func `a refusal after a lost answer tells nothing of lifetimes`() throws {
    let bench = try VirtualBench()
    try bench.signIn(lifetime: Self.day)
    bench.api.answerRefreshes(
      .failure(.lost), .json(#"{"error":"invalid_grant"}"#, status: 400))
    bench.ground.advance(by: Self.day * 2)
    #expect(!bench.isSignedIn)
    #expect(bench.store.disk.lives.isEmpty)
  }

  @Test func `the upstream's word on the refresh token's end is taken over, and followed`() throws {
    let bench = try VirtualBench()
    try bench.signIn(lifetime: .seconds(3600))
    func answer(_ number: Int, refreshEnd: Int) -> VirtualAPI.Reply {
      .json(
        #"{"access_token":"dummy-access-\#(number)","refresh_token":"dummy-refresh-\#(number)","#
          + #""expires_in":3600,"refresh_expires_in":\#(refreshEnd)}"#)
    }
    bench.api.answerRefreshes(answer(1, refreshEnd: 7_200), answer(2, refreshEnd: 7_200))
    let first = bench.refresh()
    #expect(try first.value().loginForecast?.basis == .stated)
    #expect(
      try first.value().loginForecast?.neededBy
        == bench.ground.wallTime.advanced(by: .seconds(7_200)))
    bench.ground.advance(by: .seconds(600))
    // It has been put off: the next refresh comes before it.
    let second = bench.refresh()
    #expect(try second.value().loginForecast == nil)
    #expect(try second.value().facts?.refreshTokenExpiresAt != nil)
  }

  @Test func `a sign-in's own word is taken over, too`() throws {
    let bench = try VirtualBench()
    let coordinator = bench.coordinator
    let snapshot = try bench.run {
      let generation = await coordinator.generation
      return try await coordinator.signIn(
        GrantedTokens(
          access: try UpstreamFixture.secret("dummy-access-0"),
          refresh: try UpstreamFixture.secret("dummy-refresh-0"), lifetime: .seconds(60),
          account: "ada", refreshLifetime: .seconds(900)), since: generation, actorUID: nil)
    }
    #expect(
      snapshot.loginForecast?.neededBy == bench.ground.wallTime.advanced(by: .seconds(900)))
    #expect(snapshot.loginForecast?.basis == .stated)
  }
}
