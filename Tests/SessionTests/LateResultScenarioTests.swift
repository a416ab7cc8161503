import Execution
import Requests
import Session
import Simulation
import TestSupport
import Testing
import Tips

/// What comes when its session has ended: faults that others have met. The ids name the scenarios.
@Suite(.timeLimit(.minutes(1)))
struct LateResultScenarioTests {
  private let late = ScriptedEndpoint.Answer.grant(
    access: "late-a", refresh: "late-r", lifetime: nil)

  @Test func `B26: a refresh that ends after the logout changes and announces nothing`() throws {
    let bench = try Bench.started()
    let tip = bench.today()
    bench.ground.run()
    _ = try tip.value()
    let latch = Latch()
    bench.endpoint.script(late, latch: latch)
    let refresh = bench.refreshing()
    bench.ground.advance(by: .seconds(1))
    let logout = bench.loggingOut()
    bench.ground.run()
    _ = try logout.value()
    bench.journal.clear()
    latch.open()
    bench.ground.advance(by: .seconds(60))
    #expect(refresh.isSignedOut)
    #expect(bench.snapshot.facts == nil)
    #expect(bench.store.disk.row == nil)
    #expect(bench.store.disk.tips.isEmpty)
    #expect(bench.journal.all == ["lateResultRejected"])
  }

  @Test func `B32: a refresh that the start began is no exception`() throws {
    let bench = try Bench()
    let now = bench.ground.wallTime
    let facts = SessionFacts(
      id: try #require(SessionID(bytes: Array(repeating: 1, count: 16))),
      generation: Generation(1), binding: Bench.binding, account: nil, accountVerified: false,
      signedInAt: now, scope: nil, accessTokenReceivedAt: now, accessTokenExpiresAt: now)
    try bench.store.prepare {
      try $0.install(MemoryDisk.Row(facts: facts, access: "access-0", refresh: "refresh-0"))
    }
    let latch = Latch()
    bench.endpoint.script(late, latch: latch)
    try bench.start()
    bench.ground.advance(by: .milliseconds(1))
    #expect(bench.endpoint.sent == ["refresh-0"])
    let logout = bench.loggingOut()
    bench.ground.run()
    #expect(try logout.value().hadSession)
    latch.open()
    bench.ground.advance(by: .seconds(60))
    #expect(bench.store.disk.row == nil)
    #expect(bench.snapshot.accessToken == nil)
    #expect(bench.counters.lateResultsRejected == 1)
  }

  @Test func `B35: a late refusal of the old token leaves the new session alone`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.endpoint.script(
      .failure(RefreshFailure(.refused, reason: "invalid_grant", httpStatus: 400)), latch: latch)
    let old = bench.refreshing()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    let session = bench.snapshot
    bench.journal.clear()
    latch.open()
    bench.ground.advance(by: .seconds(60))
    #expect(old.isSignedOut)
    #expect(bench.snapshot == session)
    #expect(bench.store.disk.row?.refresh == "refresh-b")
    #expect(bench.journal.all == ["lateResultRejected"])
  }

  /// Every way out of a session.
  enum WayOut: CaseIterable, Sendable {
    case logout, refused, replaced, noRefreshToken
  }

  @Test(arguments: WayOut.allCases)
  func `B37: every way out moves the generation, and a slow read brings nothing back`(
    way: WayOut
  ) throws {
    let bench = try Bench.started(refresh: way == .noRefreshToken ? nil : "refresh-0")
    let generation = bench.snapshot.generation
    let read = bench.store.hold(.after, .inspect)
    let inspection = bench.call { [coordinator = bench.coordinator] in
      let (persisted, memory) = try await coordinator.inspect()
      return (persisted.generation, memory.generation)
    }
    bench.ground.run()
    #expect(read.isReached)
    switch way {
    case .logout: _ = bench.loggingOut()
    case .refused:
      bench.endpoint.script(.failure(RefreshFailure(.refused, reason: "invalid_grant")))
      _ = bench.refreshing()
    case .replaced: try bench.signIn("access-b", "refresh-b")
    case .noRefreshToken:
      bench.transport.accept("none")
      _ = bench.getting()
    }
    bench.ground.run()
    #expect(bench.snapshot.generation > generation)
    let (row, memory) = (bench.store.disk.row, bench.snapshot)
    read.open()
    bench.ground.run()
    // What was read of the old session is not passed off as the present one's.
    let (persisted, held) = try inspection.value()
    #expect(persisted == held && held == memory.generation)
    bench.ground.advance(by: .seconds(60))
    #expect(bench.snapshot.generation == memory.generation)
    #expect(bench.store.disk.row == row)
  }
}
