import DemoUpstream
import Execution
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// Loops, retry budgets, and what an answer is taken for: faults that others have met, in virtual
/// time unless the wire matters. The ids name the scenarios.
@Suite(.timeLimit(.minutes(1)))
struct LoopScenarioTests {
  private func isUnavailable(_ call: VirtualCall<TipEntry>) -> Bool {
    if case .unavailable = call.error(TipError.self) { true } else { false }
  }

  private func isSignedOut(_ call: VirtualCall<TipEntry>) -> Bool {
    if case .signedOut = call.error(TipError.self) { true } else { false }
  }

  private func grown(_ sent: [VirtualAPI.Sent]) -> [Duration] {
    zip(sent, sent.dropFirst()).map { $0.at.duration(to: $1.at) }
  }

  @Test func `B39: a 403 to every refresh is tried a few times, ever more slowly`() throws {
    let bench = try VirtualBench()
    bench.api.answerRefreshes(.json(#"{"error":"forbidden"}"#, status: 403))
    try bench.signIn(lifetime: .seconds(10))
    // Nobody asks.
    bench.ground.advance(by: .seconds(70))
    let pauses = grown(bench.api.refreshes)
    #expect((3...7).contains(bench.api.refreshes.count))
    #expect(pauses == pauses.sorted())
    #expect(
      bench.lines.filter { $0.hasPrefix("refreshFailed") }.count == bench.api.refreshes.count)
    #expect(bench.snapshot.lastRefreshError?.contains("403") == true)
    #expect(bench.isSignedIn)
  }

  @Test func `B41: a refusal is remembered, restarts included`() throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.json(#"{"error":"invalid_grant"}"#, status: 400))
    for _ in 0..<50 { #expect(isSignedOut(bench.tip())) }
    try bench.restart()
    for _ in 0..<50 { #expect(isSignedOut(bench.tip())) }
    #expect(bench.api.refreshes.count == 1)
    #expect(bench.api.tips.count == 1)
  }

  @Test func `B42: a page with a 503 is a failure that passes`() throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.json("<html>busy</html>", status: 503), .normal)
    #expect(isUnavailable(bench.tip()))
    #expect(bench.isSignedIn)
    bench.ground.advance(by: .seconds(1))
    #expect(try bench.tip().value().cached.tip.body == "for dummy-access-1")
    #expect(bench.api.refreshTokens == ["dummy-refresh-0", "dummy-refresh-0"])
  }

  @Test(arguments: [TransportError.Kind.unreachable, .forbidden, .lost])
  func `B43: a token endpoint that cannot be reached costs no credentials`(
    kind: TransportError.Kind
  ) throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.failure(kind))
    #expect(isUnavailable(bench.tip()))
    #expect(bench.isSignedIn)
    #expect(bench.store.disk.refresh == "dummy-refresh-0")
  }

  @Test func `B44: one name that is not found fails one call, and the next succeeds`() throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.failure(.unreachable), .normal)
    guard case .unavailable(let reason, _, let wait) = bench.tip().error(TipError.self) else {
      Issue.record("not unavailable")
      return
    }
    #expect(reason.contains("unreachable"))
    bench.ground.advance(by: wait ?? .zero)
    #expect(try bench.tip().value().source == .network)
  }

  @Test(arguments: [408, 429, 500, 502, 503, 504])
  func `B45: a status that passes ends no session`(status: Int) throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.status(status))
    #expect(isUnavailable(bench.tip()))
    #expect(bench.isSignedIn)
    #expect(bench.api.refreshes.count == 1)
  }

  /// The code decides, not the status. One that is not known gets two more tries (design.md).
  @Test func `B47: a 401 that says invalid_grant ends the session at once`() throws {
    let dead = try VirtualBench.expired()
    dead.api.answerRefreshes(.json(#"{"error":"invalid_grant"}"#, status: 401))
    let started = dead.ground.now
    #expect(isSignedOut(dead.tip()))
    #expect(dead.ground.now == started)
    #expect(dead.api.refreshes.count == 1)
    let unclear = try VirtualBench.expired()
    unclear.api.answerRefreshes(.json(#"{"error":"invalid_token"}"#, status: 401))
    #expect(isUnavailable(unclear.tip()))
    #expect(unclear.ground.now.duration(to: started) == .zero)
  }

  @Test(arguments: [
    #"{"error":"failed to refresh token: invalid_grant"}"#, #"{"error":"invalid_request"}"#, "",
  ])
  func `B50: a token that is refused in odd words is not sent for ever`(body: String) throws {
    let bench = try VirtualBench.expired()
    bench.api.answerRefreshes(.json(body, status: 400))
    for _ in 0..<600 {
      _ = bench.tip()
      bench.ground.advance(by: .seconds(1))
    }
    #expect(bench.api.refreshes.count == 3)
    #expect(isSignedOut(bench.tip()))
    // The tries were spaced by the backoff.
    #expect(grown(bench.api.refreshes) == [.seconds(1), .seconds(2)])
  }

  @Test func `B51: a token that is rejected however new it is does not rotate for ever`() throws {
    let bench = try VirtualBench()
    bench.api.script { sent in sent.isToken ? .normal : .status(401) }
    try bench.signIn()
    guard case .refused(_, 401) = bench.tip().error(TipError.self) else {
      Issue.record("not refused")
      return
    }
    #expect(bench.api.refreshes.count == 1)
    #expect(bench.api.tips.count == 2)
    for _ in 0..<10 {
      bench.ground.advance(by: .milliseconds(100))
      #expect(bench.tip().error(TipError.self) != nil)
    }
    #expect(bench.api.refreshes.count <= 5)
    #expect(bench.isSignedIn)
  }

  @Test func `B52: the retry after a refresh carries the new token alone`() throws {
    let bench = try VirtualBench.expired()
    _ = try bench.tip().value()
    #expect(bench.api.tips.map(\.token) == ["dummy-access-0", "dummy-access-1"])
    for sent in bench.api.sent {
      #expect(!sent.fields.contains { $0.name.lowercased() == "authorization" })
    }
  }

  @Test func `B56: a POST that may not be repeated is sent once`() async throws {
    let bench = try await ServiceBench()
    let once = Endpoint<Bool>(
      .post, "/orders", repetition: .never, body: { Array("{}".utf8) }, interpret: { _ in true })
    for step in [Step.respond(status: 502), .respond(status: 429), .drop, .respond(status: 401)] {
      bench.upstream.script(.post, "/orders", [step])
      do throws(RequestError) {
        _ = try await bench.requester.send(once, by: bench.fixture.later)
        Issue.record("answered")
      } catch {}
      #expect(bench.upstream.stepsLeft(.post, "/orders") == 0)
    }
    #expect(bench.upstream.requests("/orders") == 4)
    #expect(bench.upstream.requests("/token") == 0)
    #expect(await bench.close() == 0)
  }

  @Test func `B56: nor is the exchange of a code`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.post, "/token", .respond(status: 502))
    let grant = AuthorizationCodeGrant(grant: fixture.grant())
    let attempt = try await grant.begin(
      redirectURI: "http://127.0.0.1:1/callback", deadline: fixture.later)
    do throws(GrantFailure) {
      _ = try await grant.exchange(
        try UpstreamFixture.secretOrFail("dummy-code"), for: attempt, deadline: fixture.later)
      Issue.record("granted")
    } catch {
      #expect(error.kind == .unavailable)
    }
    #expect(fixture.upstream.requests("/token") == 1)
    #expect(await fixture.close() == 0)
  }

  @Test func `B57: a body is made again for the retry, byte for byte`() async throws {
    let bench = try await ServiceBench()
    bench.upstream.expireAccessTokens()
    bench.upstream.script(.post, "/tips/bloom/rating", [.respond(status: 502), .normal, .normal])
    do throws(TipError) {
      try await bench.tips.rate("bloom", 4, wait: .seconds(20))
    } catch {
      Issue.record("\(error)")
    }
    // A 502, a 401, and the one that counted.
    let sent = bench.upstream.log.filter { $0.path == "/tips/bloom/rating" }
    #expect(sent.map(\.status) == [502, 401, 200])
    #expect(Set(sent.map(\.bodyLength)) == [#"{"rating":4}"#.utf8.count])
    #expect(Set(sent.map { $0.headers["content-length"] }).count == 1)
    #expect(Set(sent.map { $0.headers["idempotency-key"] }).count == 1)
    #expect(bench.upstream.ratings(of: "bloom") == [4])
    #expect(await bench.close() == 0)
  }
}
