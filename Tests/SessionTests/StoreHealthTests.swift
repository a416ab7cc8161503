import Execution
import Simulation
import TestSupport
import Testing

@testable import Session

/// A store that does not take what it is given, and heals.
@Suite(.timeLimit(.minutes(1)))
struct StoreHealthTests {
  private let full = StoreHealth(failure: .full)

  @Test func `it is asked until it is well, and both are told once`() throws {
    let bench = try Bench.started()
    bench.store.fail(.intent, .full)
    bench.store.say(full, full, full)
    let refresh = bench.refreshing()
    bench.ground.advance(by: .zero)
    #expect(refresh.error() == .storeFailed(reason: StoreError.full.reason))
    #expect(bench.store.healthAsked == 1)
    #expect(bench.snapshot.durable)
    #expect(bench.look { $0.storeHealth } == full)
    // After 1, 2 and 4 seconds.
    for (seconds, asked) in [(1, 2), (1, 2), (1, 3), (3, 3), (1, 4), (60, 4)] {
      bench.ground.advance(by: .seconds(seconds))
      #expect(bench.store.healthAsked == asked)
    }
    #expect(bench.look { $0.storeHealth } == StoreHealth())
    let told = bench.journal.all.filter { ["storeDegraded", "storeHealed"].contains($0) }
    #expect(told == ["storeDegraded", "storeHealed"])
    // What the disk did not take is no failure of the upstream.
    #expect(bench.journal.count("failure") == 0)
  }

  @Test func `it is asked by one timer`() throws {
    let bench = try Bench.started()
    let before = bench.ground.timerCount
    bench.look { coordinator in
      coordinator.checkStore(after: .seconds(1))
      coordinator.checkStore(after: .seconds(1))
    }
    #expect(bench.ground.timerCount == before + 1)
  }

  @Test func `what is wrong is said in words`() {
    let rescued = SessionCoordinator.words(for: StoreHealth(isRescued: true))
    #expect(rescued?.contains("rescue slot") == true)
    #expect(
      SessionCoordinator.words(for: full) == "the store takes no writes: \(StoreError.full.reason)")
    #expect(SessionCoordinator.words(for: StoreHealth(unfinishedLogout: "rows")) == "rows")
  }

  @Test func `a pair that a refresh has written is not written again`() throws {
    let bench = try Bench.started()
    bench.store.fail(.commit, .full)
    let first = bench.refreshing()
    bench.ground.run()
    _ = try first.value()
    let second = bench.refreshing()
    bench.ground.run()
    _ = try second.value()
    // The first pair before it was sent, and the second.
    #expect(bench.journal.count("commit") == 2)
    bench.ground.advance(by: .seconds(5))
    #expect(bench.journal.count("commit") == 2)
  }

  /// The commit of a pair says nothing of the one that came after it.
  @Test(arguments: [true, false])
  func `a rewrite that ends late speaks for its own pair alone`(isReplaced: Bool) throws {
    let bench = try Bench.started()
    bench.store.fail(.commit, .full)
    let first = bench.refreshing()
    bench.ground.run()
    _ = try first.value()
    let rewrite = bench.store.hold(.after, .commit)
    bench.ground.advance(by: .seconds(1))
    #expect(rewrite.isReached)
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-2", refresh: "refresh-2", lifetime: nil), gate: gate)
    let second = bench.refreshing()
    bench.ground.run()
    #expect(bench.endpoint.sent == ["refresh-0", "refresh-1"])
    #expect(bench.snapshot.durable)
    if isReplaced {
      bench.store.fail(.commit, .full)
      gate.open()
      bench.ground.run()
      _ = try second.value()
    }
    rewrite.open()
    bench.ground.run()
    #expect(bench.snapshot.durable == !isReplaced)
    #expect(bench.journal.count("storeHealed") == 1)
    bench.ground.advance(by: .seconds(5))
    #expect(bench.snapshot.durable)
    #expect(bench.store.disk.row?.refresh == (isReplaced ? "refresh-2" : "refresh-1"))
    gate.open()
    bench.ground.run()
  }
}
