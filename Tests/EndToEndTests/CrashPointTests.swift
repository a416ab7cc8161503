import FoundationEssentials
import TestSupport
import Testing

/// `kill -9` at every call of a refresh, an import and a logout, and at random times: a restart finds
/// the last published state or the next one, an answered refresh is never lost, an answered logout
/// never undone (I5, I9), and no token stands anywhere (I10).
///
/// How many points: `BREWLOG_CRASH_POINTS`; `make crash` takes a thousand.
@Suite(.serialized, .ownThread, .timeLimit(.minutes(60)))
struct CrashPointTests {
  private static let points =
    ProcessInfo.processInfo.environment["BREWLOG_CRASH_POINTS"].flatMap { Int($0) } ?? 36

  /// B18: among them every write of a refresh's commit.
  @Test func `a kill at any call loses nothing that was answered and leaves no token`() throws {
    let bench = try CrashBench(takesOrders: true)
    var done = 0
    let share = (Self.points / 2 + 2) / CrashMove.allCases.count
    for move in CrashMove.allCases {
      let calls = try bench.calls(move)
      #expect(calls > 20, "\(move)")
      // All of them where there are so many to take; else evenly over the whole of the move, and the
      // round begun again, since no two runs are alike.
      for index in 0..<share {
        var call = share >= calls ? 1 + index % calls : 1 + index * calls / share
        // Near the end of a move the number of calls differs from run to run.
        while try !bench.crash(move, atCall: call), call > 1 { call = max(1, call - 5) }
        done += 1
      }
      print("crash: \(move): \(calls) calls, \(done) kills so far")
    }
    #expect(bench.problems == [])
    #expect(done >= Self.points / 2)
  }

  @Test func `a kill at any time loses nothing that was answered and leaves no token`() throws {
    let bench = try CrashBench(takesOrders: false)
    var random = SplitMix(state: 20_260_101)
    for index in 0..<Self.points / 2 {
      let move = CrashMove.allCases[index % CrashMove.allCases.count]
      try bench.crash(move, after: UInt32.random(in: 0..<9000, using: &random))
    }
    #expect(bench.problems == [])
    print("crash: \(Self.points / 2) kills at random times")
  }
}
