import Execution
import Session
import Testing

@testable import Requests
@testable import Tips

/// The values that keep sessions apart, each by itself (I2, I6).
@Suite(.timeLimit(.minutes(1)))
struct BoundaryValueTests {
  @Test func `equal requests of two generations are two`() throws {
    let request = HTTPRequest(method: .get, url: "https://api.example.test/tips/today", fields: [])
    let keys = [1, 2, 2].map {
      RequestKey(request, generation: Generation($0), repetition: .idempotent)
    }
    #expect(keys[0] != keys[1] && keys[1] == keys[2])
  }

  @Test func `the cache takes tips of its own session and generation alone`() throws {
    let ids = try [1, 2].map { number in
      try #require(SessionID(bytes: Array(repeating: UInt8(number), count: 16)))
    }
    for (id, generation, isTaken) in [(0, 1, true), (1, 1, false), (0, 2, false)] {
      var cache = TipCache(capacity: 4)
      cache.reset(to: Generation(1), session: ids[0])
      let tip = CachedTip(
        key: .today, tip: Tip(id: "1", title: "t", body: "b"), session: ids[id],
        generation: Generation(UInt64(generation)), fetchedAt: WallTime(milliseconds: 0),
        freshFor: .seconds(60))
      #expect(cache.insert(tip) == isTaken)
      #expect((cache[.today] != nil) == isTaken)
    }
  }
}
