import Execution
import Requests
import Session
import TestSupport
import Testing
import Tips

/// A daemon that serves before its stored tips are read.
@Suite(.timeLimit(.minutes(1)))
struct TipLoadingTests {
  /// Signed in with the tip of the day and another on disk, started anew, and held before all tips are
  /// read.
  private struct Start {
    let bench: Bench
    let reading: Latch
    let loading: Pending<Void>
    /// The other tip.
    static let key = TipKey.item("stored")

    init() throws {
      let first = try Bench.started()
      let today = first.today()
      let other = first.call { [first] in
        try await first.tips.fetch(Start.key, TipDemand(wait: .seconds(20)))
      }
      first.ground.run()
      _ = (try today.value(), try other.value())
      bench = try Bench(ground: first.ground, store: first.store)
      reading = first.store.hold(.before, .tips)
      let start = bench.call { [bench] in
        await bench.requester.follow()
        await bench.tips.follow()
        try await bench.coordinator.start()
        await bench.tips.expectStored()
      }
      bench.ground.run()
      try start.value()
      loading = bench.call { [bench] in await bench.tips.load() }
      bench.ground.run()
    }

    func asking(_ wait: Duration, cacheOnly: Bool = true) -> Pending<TipEntry> {
      bench.call { [bench] in
        try await bench.tips.fetch(Self.key, TipDemand(cacheOnly: cacheOnly, wait: wait))
      }
    }

    func finish() throws {
      reading.open()
      bench.ground.run()
      try loading.value()
    }
  }

  @Test(arguments: [false, true])
  func `who asks before the stored tips are read gets the stored tip`(cacheOnly: Bool) throws {
    let start = try Start()
    let caller = start.asking(.seconds(20), cacheOnly: cacheOnly)
    start.bench.ground.run()
    #expect(!caller.isAnswered)
    try start.finish()
    #expect(try caller.value().source == .cache)
    #expect(start.bench.counters.refreshesStarted == 0)
  }

  @Test
  func `the tip of the day is there before the others are read`() throws {
    let start = try Start()
    let caller = start.bench.today(TipDemand(wait: .seconds(20)))
    start.bench.ground.run()
    #expect(try caller.value().source == .cache)
    try start.finish()
  }

  @Test
  func `a tip that is not stored is asked for once the stored ones are read`() throws {
    let start = try Start()
    let tips = start.bench.tips
    let caller = start.bench.call {
      try await tips.fetch(.item("other"), TipDemand(wait: .seconds(20)))
    }
    start.bench.ground.run()
    #expect(!caller.isAnswered)
    try start.finish()
    #expect(try caller.value().source == .network)
  }

  @Test
  func `who waits for the stored tips is answered at its deadline`() throws {
    let start = try Start()
    let caller = start.asking(.seconds(2))
    start.bench.ground.advance(by: .seconds(2))
    #expect(caller.error(TipError.self) != nil)
    try start.finish()
    let later = start.asking(.seconds(2))
    start.bench.ground.run()
    #expect(try later.value().source == .cache)
  }

  @Test
  func `who waits for the stored tips and leaves is answered at once`() throws {
    let start = try Start()
    let caller = start.asking(.seconds(20))
    start.bench.ground.run()
    caller.cancel()
    start.bench.ground.run()
    #expect(caller.isAnswered)
    try start.finish()
  }

  /// I6.
  @Test
  func `a session that ends while its tips are read is served none of them`() throws {
    let start = try Start()
    let caller = start.asking(.seconds(20))
    start.bench.ground.run()
    try start.bench.signIn("access-b", "refresh-b")
    try start.finish()
    #expect(caller.error(TipError.self) != nil)
    let later = start.asking(.seconds(2))
    start.bench.ground.run()
    #expect(later.error(TipError.self) != nil)
  }
}
