import Execution
import Glibc
import Platform
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// Lifetimes, clocks and suspend: faults that others have met, in virtual time.
@Suite(.timeLimit(.minutes(1)))
struct ExpiryScenarioTests {
  /// What one refresh makes of a lifetime, in seconds; nil: it is not known.
  private func known(_ json: String?) throws -> Int? {
    let bench = try VirtualBench.expired()
    bench.api.setLifetime(json)
    let before = bench.ground.wallTime
    _ = try bench.tip().value()
    #expect(bench.store.disk.refresh == "dummy-refresh-1")
    #expect(bench.api.refreshes.count == 1)
    let end = try #require(bench.snapshot.facts).accessTokenExpiresAt
    return end.map { before.duration(to: $0).secondsRoundedDown }
  }

  @Test func `B67: a lifetime as text counts, one that cannot be read is not known`() throws {
    #expect(try known("\"3600\"") == 3600)
    #expect(try known("\" 3600 \"") == nil)
    #expect(try known("\"3600s\"") == nil)
  }

  @Test func `B68: a fraction is cut`() throws {
    #expect(try known("3600.0") == 3600)
    #expect(try known("3599.5") == 3599)
    #expect(try known("3.6e3") == 3600)
  }

  @Test func `B69: a lifetime of nothing does not make the timer spin`() throws {
    let bench = try VirtualBench.expired()
    bench.api.setLifetime("0")
    _ = try bench.tip().value()
    bench.ground.advance(by: .seconds(60))
    #expect(bench.api.refreshes.count == 1)
    bench.api.rejectAccess()
    #expect(try bench.tip().value().source == .network)
    #expect(bench.api.refreshes.count == 2)

    bench.api.setLifetime("15")
    bench.api.rejectAccess()
    _ = try bench.tip().value()
    bench.api.clear()
    bench.ground.advance(by: .seconds(60))
    #expect(bench.api.refreshes.count <= 4)
    #expect(try bench.tip().value().source == .network)
  }

  @Test func `B71: a missing lifetime is not the old one`() throws {
    let bench = try VirtualBench()
    bench.api.setLifetime(nil)
    bench.api.rejectAccess()
    try bench.signIn(lifetime: .seconds(1))
    bench.ground.advance(by: .seconds(10))
    for _ in 0..<20 { _ = try bench.tip().value() }
    #expect(bench.api.refreshes.count == 1)
    #expect(bench.snapshot.facts?.accessTokenExpiresAt == nil)
  }

  @Test(arguments: ["1e13", "\"1e13\"", "9.3e18", "1e300", "1e999", "null", "true", "[]", "-1"])
  func `B72: an absurd lifetime is not known, and the pair is kept`(json: String) throws {
    #expect(try known(json) == nil)
  }

  @Test(arguments: ["2147483648", "4294967296"])
  func `B73: a lifetime beyond 32 bits does not wrap into the past`(json: String) throws {
    let bench = try VirtualBench.expired()
    bench.api.setLifetime(json)
    for _ in 0..<10 { _ = try bench.tip().value() }
    #expect(bench.api.refreshes.count == 1)
    let end = bench.snapshot.facts?.accessTokenExpiresAt
    #expect(end.map { $0 > bench.ground.wallTime } ?? true)
  }

  @Test func `B75: a margin beyond the lifetime is cut to a share of it`() throws {
    let bench = try VirtualBench.expired()
    bench.api.setLifetime("20")
    for _ in 0..<30 {
      _ = try bench.tip().value()
      bench.ground.advance(by: .milliseconds(500))
    }
    #expect(bench.api.refreshes.count == 1)
  }

  @Test func `B76: a clock ahead of the server's does not age a token`() throws {
    let bench = try VirtualBench.expired()
    // The server's clock is ten minutes behind, and the answer says when it was made.
    bench.api.answerRefreshes(
      .json(
        #"{"access_token":"dummy-access-1","expires_in":60,"exp":1799999460}"#, status: 200,
        [HTTPField("Date", "Fri, 15 Jan 2027 07:50:00 GMT")]))
    let now = bench.ground.wallTime
    let refreshed = bench.refresh()
    #expect(try refreshed.value().facts?.accessTokenExpiresAt == now.advanced(by: .seconds(60)))
    bench.ground.advance(by: .seconds(20))
    _ = bench.tip()
    #expect(bench.api.tips.last?.token == "dummy-access-1")
  }

  /// The call may come before the timers that fell due meanwhile, or after them.
  @Test(arguments: [true, false])
  func `B78: after a suspend a token that ended meanwhile is not used`(isFirst: Bool) throws {
    let bench = try VirtualBench()
    try bench.signIn(lifetime: .seconds(3600))
    bench.ground.suspend(for: .seconds(7_200))
    #expect(bench.api.sent.isEmpty)
    if !isFirst { bench.ground.advance(by: .zero) }
    #expect(try bench.tip().value().cached.tip.body == "for dummy-access-1")
    bench.ground.advance(by: .seconds(60))
    #expect(bench.api.tips.map(\.token) == ["dummy-access-1"])
    #expect(bench.api.refreshes.count == 1)
  }

  @Test func `B78: nor where the network comes back later than the machine`() throws {
    let bench = try VirtualBench()
    // The machine sleeps through the renewal: nothing gets out.
    bench.api.script { $0.isToken ? .failure(.unreachable) : .normal }
    try bench.signIn(lifetime: .seconds(3600))
    bench.ground.advance(by: .seconds(7_200))
    bench.api.script { _ in .normal }
    bench.ground.advance(by: .seconds(300))
    #expect(try bench.tip().value().cached.tip.body == "for dummy-access-1")
    #expect(bench.api.tips.map(\.token) == ["dummy-access-1"])
  }

  @Test func `B78: the loop's clock is the one that goes on in suspend`() throws {
    let thread = try LoopThread()
    func boot() -> UInt64 {
      var time = timespec()
      clock_gettime(CLOCK_BOOTTIME, &time)
      return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
    let before = boot()
    let now = thread.loop.now.nanoseconds
    #expect((before...boot()).contains(now))
  }

  @Test(arguments: [3_600, -3_600, 86_400 * 365])
  func `B80: a step of the wall clock refreshes nothing and ages nothing`(seconds: Int64) throws {
    let bench = try VirtualBench()
    try bench.signIn(lifetime: .seconds(1800))
    let end = bench.store.disk.facts?.accessTokenExpiresAt
    bench.ground.setWallTime(bench.ground.wallTime.advanced(by: .seconds(seconds)))
    bench.ground.advance(by: .seconds(120))
    #expect(try bench.tip().value().source == .network)
    #expect(bench.api.refreshes.isEmpty)
    // In UTC, as it was.
    #expect(bench.store.disk.facts?.accessTokenExpiresAt == end)
    bench.ground.advance(by: .seconds(1700))
    #expect(bench.api.refreshes.count == 1)
  }

  /// 2027-03-28 00:59 UTC is a minute before Berlin's clocks go from 2:00 to 3:00.
  @Test func `B80: nor does summer time, nor another zone while the daemon runs`() async {
    await #expect(processExitsWith: .success) {
      setenv("TZ", "Europe/Berlin", 1)
      tzset()
      let bench = try VirtualBench()
      bench.ground.setWallTime(WallTime(milliseconds: 1_806_195_540_000))
      try bench.signIn(lifetime: .seconds(1800))
      let end = bench.store.disk.facts?.accessTokenExpiresAt
      try #require(end == WallTime(milliseconds: 1_806_197_340_000))
      bench.ground.advance(by: .seconds(120))
      _ = try bench.tip().value()
      setenv("TZ", "Pacific/Kiritimati", 1)
      tzset()
      bench.ground.advance(by: .seconds(60))
      _ = try bench.tip().value()
      try bench.restart()
      _ = try bench.tip().value()
      try #require(bench.api.refreshes.isEmpty)
      try #require(bench.store.disk.facts?.accessTokenExpiresAt == end)
    }
  }

  @Test func `a token ends no later for a clock that was set back while nothing ran`() throws {
    let bench = try VirtualBench()
    try bench.signIn(lifetime: .seconds(600))
    bench.ground.setWallTime(bench.ground.wallTime.advanced(by: .seconds(-86_400)))
    try bench.restart()
    bench.ground.advance(by: .seconds(600))
    #expect(bench.api.refreshes.count == 1)
  }

  @Test func `B82: a lifetime goes on while the daemon does not run`() throws {
    let bench = try VirtualBench.expired()
    _ = try bench.tip().value()
    bench.api.clear()
    try bench.restart(after: .seconds(7_200))
    bench.ground.run()
    #expect(try bench.tip().value().cached.tip.body == "for dummy-access-2")
    #expect(bench.api.tips.allSatisfy { $0.token == "dummy-access-2" })
    #expect(bench.api.refreshTokens == ["dummy-refresh-1"])
  }
}
