import FoundationEssentials
import Simulation
import Testing

/// The worlds once more, on real threads: for `make tsan`, which sets the number of rounds.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ThreadTests {
  /// Nil: only a few worlds, once each.
  private static let rounds =
    ProcessInfo.processInfo.environment["BREWLOG_THREAD_ROUNDS"].flatMap { Int($0) }

  /// Nothing here waits for a kill, a full disk or a clock.
  private static let worlds: [World] = {
    let all = Worlds.all.filter { world in
      world.crashes == 0 && world.storeFaults == 0 && world.leastRefreshes == 0
        && world.hasAccessToken && world.hasRefreshToken && !world.isOnSQLite
    }
    return rounds == nil ? stride(from: 0, to: all.count, by: 12).map { all[$0] } : all
  }()

  @Test(arguments: worlds)
  func `a world on real threads keeps to the invariants`(world: World) async throws {
    for round in 0..<(Self.rounds ?? 1) {
      let wrong = try await ThreadedWorld(world, seed: UInt64(round) &* 7_919).run()
      #expect(wrong.isEmpty, "round \(round): \(wrong.joined(separator: "; "))")
    }
  }
}
