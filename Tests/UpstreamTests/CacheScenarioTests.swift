import Execution
import FoundationEssentials
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// The tips' cache through service, requester and coordinator, in virtual time: what RFC 9111 and
/// RFC 5861 let it serve, days, 404s, and what it asks for unasked.
@Suite(.timeLimit(.minutes(1)))
struct CacheScenarioTests {
  private static let tip = #"{"id":"t1","title":"Rinse","body":"Hot water first."}"#
  private static let other = #"{"id":"t2","title":"Grind","body":"Just before."}"#

  private func answer(_ body: String, _ fields: (String, String)...) -> VirtualAPI.Reply {
    .json(body, fields.map { HTTPField($0.0, $0.1) })
  }

  private func signedIn() throws -> VirtualBench {
    let bench = try VirtualBench()
    try bench.signIn(lifetime: nil)
    return bench
  }

  /// What a client gets that names no age.
  private func today(_ bench: VirtualBench) throws -> TipEntry {
    try bench.tip(maxAge: nil).value()
  }

  private func item(_ bench: VirtualBench, _ id: String) -> VirtualCall<TipEntry> {
    let tips = bench.tips
    let call = bench.begin { try await tips.fetch(.item(id), TipDemand(wait: .seconds(30))) }
    bench.ground.run()
    return call
  }

  @Test func `a tip is served for its lifetime, less its age, without asking`() throws {
    let bench = try signedIn()
    bench.api.answerTips(answer(Self.tip, ("Cache-Control", "max-age=100"), ("Age", "40")))
    _ = try today(bench)
    bench.ground.advance(by: .seconds(59))
    #expect(try today(bench).source == .cache)
    #expect(try today(bench).age == .seconds(59))
    #expect(bench.api.tips.count == 1)
    bench.ground.advance(by: .seconds(1))
    #expect(try today(bench).source == .network)
    #expect(bench.api.tips.count == 2)
  }

  @Test(arguments: ["no-cache", "max-age=0", "no-store"])
  func `what may not be served unasked is asked for each time`(directive: String) throws {
    let bench = try signedIn()
    bench.api.answerTips(answer(Self.tip, ("Cache-Control", directive)))
    for _ in 0..<3 { #expect(try today(bench).source == .network) }
    #expect(bench.api.tips.count == 3)
    // Not kept at all, or kept for the next question.
    #expect(bench.store.disk.tips.isEmpty == (directive == "no-store"))
    bench.api.script { _ in .failure(.unreachable) }
    let away = bench.tip(maxAge: nil)
    bench.ground.advance(by: .seconds(5))
    #expect((try? away.value()) == nil || directive == "max-age=0")
  }

  @Test func `Vary by all is never fresh, by what is alike in all requests it is`() throws {
    for (field, source) in [("*", TipSource.network), ("Accept, Authorization", .cache)] {
      let bench = try signedIn()
      bench.api.answerTips(answer(Self.tip, ("Cache-Control", "max-age=100"), ("Vary", field)))
      _ = try today(bench)
      #expect(try today(bench).source == source)
    }
  }

  @Test func `stale-while-revalidate answers at once and asks behind`() throws {
    let bench = try signedIn()
    bench.api.answerTips(
      answer(Self.tip, ("Cache-Control", "max-age=10, stale-while-revalidate=30")),
      .later(.seconds(2), answer(Self.other, ("Cache-Control", "max-age=10"))))
    _ = try today(bench)
    bench.ground.advance(by: .seconds(20))
    for _ in 0..<5 {
      let stale = try today(bench)
      #expect(stale.cached.tip.id == "t1")
      #expect(stale.staleReason?.contains("being asked for") == true)
    }
    #expect(bench.api.tips.count == 2)
    bench.ground.advance(by: .seconds(2))
    #expect(try today(bench).cached.tip.id == "t2")
    #expect(try today(bench).staleReason == nil)
    #expect(bench.api.tips.count == 2)
    // Past both spans nothing is answered unasked.
    bench.ground.advance(by: .seconds(60))
    let last = bench.tip(maxAge: nil)
    #expect(!last.isAnswered)
    bench.ground.advance(by: .seconds(2))
    #expect(try last.value().source == .network)
  }

  @Test func `stale-if-error holds for as long as it says, must-revalidate forbids it`() throws {
    for (directives, seconds, isServed) in [
      ("max-age=10, stale-if-error=60", 65, true), ("max-age=10, stale-if-error=60", 75, false),
      ("max-age=10, must-revalidate, stale-if-error=60", 15, false), ("max-age=10", 75, true),
    ] {
      let bench = try signedIn()
      bench.api.answerTips(answer(Self.tip, ("Cache-Control", directives)), .failure(.forbidden))
      _ = try today(bench)
      bench.ground.advance(by: .seconds(seconds))
      let call = bench.tip(maxAge: nil)
      #expect((try? call.value().staleReason)?.isEmpty == (isServed ? false : nil))
      #expect((try? call.value().age) == (isServed ? .seconds(seconds) : nil))
    }
  }

  /// RFC 9111, section 4.3.4.
  @Test func `a 304 renews what it says, and leaves what it does not say`() throws {
    for (fields, span) in [([], 100), ([HTTPField("Cache-Control", "max-age=5")], 5)] {
      let bench = try signedIn()
      bench.api.answerTips(
        answer(Self.tip, ("Cache-Control", "max-age=100"), ("ETag", "\"a\"")),
        .json("", status: 304, fields))
      _ = try today(bench)
      bench.ground.advance(by: .seconds(100))
      #expect(try today(bench).source == .revalidated)
      #expect(bench.api.tips.last?.fields.contains(HTTPField("If-None-Match", "\"a\"")) == true)
      bench.ground.advance(by: .seconds(span - 1))
      #expect(try today(bench).source == .cache)
      bench.ground.advance(by: .seconds(1))
      #expect(try today(bench).source == .revalidated)
      #expect(bench.api.tips.count == 3)
    }
  }

  @Test func `what had to be asked for each time still has after a 304 without a word`() throws {
    let bench = try signedIn()
    bench.api.answerTips(
      answer(Self.tip, ("Cache-Control", "no-cache"), ("Last-Modified", "then")), .status(304))
    _ = try today(bench)
    for _ in 0..<3 { #expect(try today(bench).source == .revalidated) }
    #expect(bench.api.tips.count == 4)
    #expect(bench.api.tips.last?.fields.contains(HTTPField("If-Modified-Since", "then")) == true)
    // Nor may it be served when it cannot be asked for.
    bench.api.answerTips(.failure(.forbidden))
    #expect(bench.tip(maxAge: nil).error(TipError.self) != nil)
  }

  @Test func `a 404 is remembered for a minute, and takes the cached tip with it`() throws {
    let bench = try signedIn()
    bench.api.answerTips(answer(Self.tip, ("Cache-Control", "max-age=1")), .status(404), .normal)
    _ = try item(bench, "x").value()
    #expect(bench.store.disk.tips.count == 1)
    bench.ground.advance(by: .seconds(2))
    for _ in 0..<5 { #expect(item(bench, "x").error(TipError.self) == .notFound(id: "x")) }
    #expect(bench.api.tips.count == 2)
    #expect(bench.store.disk.tips.isEmpty)
    bench.ground.advance(by: .seconds(60))
    #expect(try item(bench, "x").value().source == .network)
    #expect(bench.api.tips.count == 3)
  }

  /// The ground's day is UTC's; it is eight in the morning.
  @Test func `a tip of the day is not fresh on the next one, and is there before it is asked for`()
    throws
  {
    let bench = try signedIn()
    bench.api.answerTips(
      answer(
        #"{"id":"t1","title":"a","body":"b","date":"2027-01-15"}"#,
        ("Cache-Control", "max-age=864000")),
      answer(
        #"{"id":"t2","title":"a","body":"b","date":"2027-01-16"}"#,
        ("Cache-Control", "max-age=864000")))
    _ = try today(bench)
    bench.ground.advance(by: .seconds(16 * 3600 - 1))
    #expect(try today(bench).cached.tip.id == "t1")
    #expect(bench.api.tips.count == 1)
    // Within a minute after midnight, and nobody has asked.
    bench.ground.advance(by: .seconds(62))
    #expect(bench.api.tips.count == 2)
    let entry = try today(bench)
    #expect(entry.cached.tip.id == "t2")
    #expect(entry.source == .cache)
    #expect(bench.api.tips.count == 2)
  }

  @Test func `who asks in the first second of a day gets no tip of the last`() throws {
    let bench = try signedIn()
    bench.api.answerTips(
      answer(Self.tip, ("Cache-Control", "max-age=864000")),
      answer(Self.other, ("Cache-Control", "max-age=864000")))
    _ = try today(bench)
    bench.ground.suspend(for: .seconds(16 * 3600))
    #expect(try today(bench).cached.tip.id == "t2")
  }

  /// As after a start with a clock that was not set yet.
  @Test func `a clock that is set moves midnight, within the hour`() throws {
    let bench = try signedIn()
    bench.api.answerTips(
      answer(Self.tip, ("Cache-Control", "max-age=864000")),
      answer(Self.other, ("Cache-Control", "max-age=864000")))
    _ = try today(bench)
    bench.ground.advance(by: .seconds(60))
    // From eight in the morning to half an hour before midnight.
    bench.ground.setWallTime(bench.ground.wallTime.advanced(by: .seconds(15 * 3600 + 1740)))
    bench.ground.advance(by: .seconds(3_600 + 61))
    #expect(bench.api.tips.count == 2)
    #expect(try today(bench).cached.tip.id == "t2")
    #expect(try today(bench).source == .cache)
  }

  @Test func `a day's first look that fails is made again without a client`() throws {
    let bench = try signedIn()
    bench.api.answerTips(answer(Self.tip), .status(429), answer(Self.other))
    _ = try today(bench)
    bench.ground.advance(by: .seconds(16 * 3600 + 61))
    #expect(bench.api.tips.count == 2)
    bench.ground.advance(by: .seconds(3_600))
    #expect(bench.api.tips.count == 3)
    #expect(bench.store.disk.tips[.today]?.tip.id == "t2")
    bench.ground.advance(by: .seconds(12 * 3_600))
    #expect(bench.api.tips.count == 3)
  }

  @Test func `a tip from a clock that was set back since is asked for again`() throws {
    let bench = try signedIn()
    bench.api.answerTips(answer(Self.tip, ("Cache-Control", "max-age=100")))
    _ = try item(bench, "x").value()
    bench.ground.setWallTime(bench.ground.wallTime.advanced(by: .seconds(-86_400)))
    #expect(try item(bench, "x").value().source == .network)
    #expect(try item(bench, "x").value().source == .cache)
    bench.ground.setWallTime(bench.ground.wallTime.advanced(by: .seconds(-86_400)))
    bench.api.script { _ in .failure(.forbidden) }
    let away = item(bench, "x")
    #expect(try away.value().staleReason?.isEmpty == false)
    #expect(try away.value().age == .zero)
  }

  @Test func `the next day is not asked for where nobody asks for the day's`() throws {
    let bench = try signedIn()
    _ = try item(bench, "x").value()
    bench.ground.advance(by: .seconds(86_400 * 2))
    #expect(bench.api.tips.count == 1)
  }

  @Test func `today's tip is never evicted`() throws {
    let bench = try signedIn()
    let tips = bench.tips
    let freshness = Freshness(
      defaultLifetime: .seconds(900), staleIfError: .seconds(604_800), dayZone: .gmt)
    try bench.run {
      await tips.adopt(
        freshness: freshness, paths: TipPaths(), fields: try TipFields.plain(), keep: 3)
    }
    _ = try today(bench)
    for number in 0..<20 {
      bench.ground.advance(by: .seconds(1))
      _ = try item(bench, "\(number)").value()
    }
    #expect(bench.ground.perform { tips.assumeIsolated { $0.cachedTips } } == 3)
    #expect(try today(bench).source == .cache)
    #expect(try item(bench, "19").value().source == .cache)
    #expect(try item(bench, "0").value().source == .network)
  }
}
