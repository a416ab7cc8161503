import FoundationEssentials
import Simulation
import Testing

/// The worlds once more, on real threads: for `make tsan`, which sets the number of rounds.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ThreadTests {
  private static let rounds =
    ProcessInfo.processInfo.environment["BREWLOG_THREAD_ROUNDS"].flatMap { Int($0) } ?? 1

  /// Nothing here waits for a kill, a full disk or a clock.
  private static let worlds = Worlds.all.filter { world in
    world.crashes == 0 && world.storeFaults == 0 && world.leastRefreshes == 0
      && world.hasAccessToken && world.hasRefreshToken && !world.isOnSQLite
  }

  @Test(arguments: worlds)
  func `a world on real threads keeps to the invariants`(world: World) async throws {
    for round in 0..<Self.rounds {
      let wrong = try await ThreadedWorld(world, seed: UInt64(round) &* 7_919).run()
      #expect(wrong.isEmpty, "round \(round): \(wrong.joined(separator: "; "))")
    }
  }
}
