import Execution
import Simulation
import TestSupport
import Testing

@testable import Session

/// What a flight leaves, and what is shown of it.
@Suite(.timeLimit(.minutes(1)))
struct FlightTests {
  private let late = ScriptedEndpoint.Answer.grant(access: "late", refresh: "late", lifetime: nil)

  @Test func `one that was let go before it was sent asks nothing of the store`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.endpoint.script(late, latch: latch)
    _ = bench.refreshing()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    // Waits for the exchange of the first session to close.
    _ = bench.refreshing()
    bench.ground.run()
    #expect(bench.look { $0.orphans.count } == 1)
    try bench.signIn("access-c", "refresh-c")
    latch.open()
    bench.ground.run()
    #expect(bench.endpoint.sent == ["refresh-0"])
    #expect(bench.counters.lateResultsRejected == 1)
    #expect(bench.journal.count("intent") == 1)
    #expect(bench.look { $0.orphans.isEmpty && $0.revocable.isEmpty })
  }

  @Test func `a server that names no new refresh token keeps the old one`() throws {
    let bench = try Bench.started()
    bench.endpoint.script(.grant(access: "access-1", refresh: nil, lifetime: nil))
    let refresh = bench.refreshing()
    bench.ground.run()
    _ = try refresh.value()
    #expect(bench.store.disk.row?.access == "access-1")
    #expect(bench.store.disk.row?.refresh == "refresh-0")
    #expect(bench.snapshot.refreshToken == Dummy.fingerprint(of: "refresh-0"))
  }

  @Test func `an exchange that was aborted is no failure, and its intent stays`() throws {
    let bench = try Bench.started()
    bench.endpoint.script(.failure(RefreshFailure(.cancelled, reason: "the network changed")))
    let aborted = bench.refreshing()
    bench.ground.run()
    #expect(aborted.error() != nil)
    #expect(bench.store.disk.intent?.token == Dummy.fingerprint(of: "refresh-0"))
    #expect(bench.store.disk.backoff == nil)
    let next = bench.refreshing()
    bench.ground.run()
    _ = try next.value()
    #expect(bench.endpoint.sent.count == 2)
  }

  @Test func `when the next one comes is shown only where it is known`() throws {
    let bench = try Bench.started()
    let due = try #require(bench.snapshot.nextRefreshAt)
    #expect(bench.ground.wallTime.duration(to: due).secondsRoundedUp == 3540)
    let gate = Gate()
    bench.endpoint.script(
      .failure(RefreshFailure(.misconfigured, reason: "invalid_client")), gate: gate)
    _ = bench.refreshing()
    bench.ground.run()
    #expect(bench.snapshot.nextRefreshAt == nil)
    gate.open()
    bench.ground.run()
    // Not before the configuration changes.
    #expect(bench.snapshot.nextRefreshAt == nil)
    #expect(bench.snapshot.lastRefreshError == "invalid_client")
  }

  @Test func `a generation that has passed gets no token and no permit`() throws {
    let bench = try Bench.started()
    let old = bench.snapshot.generation
    let now = bench.ground.now
    try bench.signIn("access-b", "refresh-b")
    #expect(bench.look { $0.permit(for: old) == nil })
    #expect(bench.look { $0.permit(for: $0.generation) != nil })
    let stale = bench.call { [coordinator = bench.coordinator] in
      try await coordinator.credential(for: old, mayRefresh: false, by: now).version
    }
    bench.ground.run()
    #expect(stale.isSignedOut)
  }
}
