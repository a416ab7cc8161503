import BrewlogAPI
import Execution
import FoundationEssentials
import JSON
import TestSupport
import Testing

@testable import CLI

@Suite(.timeLimit(.minutes(1)))
struct SessionChronicleTests {
  private let chronicle = SessionChronicle(
    ExpectedOutputTests.life, now: Invocation.now.milliseconds)

  @Test func `sessions, tokens, outages and failures are read out of the events`() {
    #expect(chronicle.sessions.count == 2)
    #expect(chronicle.sessions[0].end != nil)
    #expect(chronicle.sessions[1].end == nil)
    #expect(chronicle.tokens.count == 4)
    #expect(chronicle.rotations.count == 2)
    #expect(chronicle.failures.map(\.note) == ["timed out"])
    #expect(chronicle.outages.map { ($0.end ?? 0) - $0.start } == [40 * 60_000])
    #expect(chronicle.refreshLatencies.map(\.milliseconds) == [120, 5000, 300])
    #expect(chronicle.tipLatencies.map(\.milliseconds) == [80])
  }

  @Test func `events that begin in the middle of a session are of one`() {
    let events = [
      Event(sequence: 9, at: "2026-11-30T13:00:00Z", kind: .refreshStarted, generation: 2),
      Event(sequence: 10, at: "2026-11-30T13:00:01Z", kind: .refreshSucceeded, generation: 2),
    ]
    let chronicle = SessionChronicle(events, now: Invocation.now.milliseconds)
    #expect(chronicle.sessions.map(\.hasBeginning) == [false])
    #expect(chronicle.tokens.count == 2)
  }

  @Test(arguments: [[], [Event(sequence: 1, at: "never", kind: .signedIn, generation: 1)]])
  func `no events are no picture`(events: [Event]) {
    let chronicle = SessionChronicle(events, now: 0)
    #expect(chronicle.sessions.isEmpty)
    #expect(chronicle.start == 0)
  }

  @Test func `the drawing is a file that browsers take, with all words escaped`() async throws {
    var events = ExpectedOutputTests.life
    events[1].detail = "<script>&\"\u{1B}[2J"
    let daemon = try await ScriptedDaemon([.history: .reply(HistoryReply(events: events))])
    let scratch = try ScratchDirectory()
    let outcome = Invocation("history", "--svg", scratch.path("life.svg")).on(daemon)
    #expect(outcome.exit == .done)
    let data = try #require(FileManager.default.contents(atPath: scratch.path("life.svg")))
    let text = String(decoding: data, as: UTF8.self)
    #expect(text.hasPrefix("<svg "))
    #expect(text.hasSuffix("</svg>\n"))
    #expect(text.contains("&lt;script&gt;&amp;&quot;"))
    #expect(!text.contains("<script>"))
    #expect(!text.contains("\u{1B}"))
    #expect(Invocation("history", "--svg", "-").on(daemon).out == text)
    #expect(Invocation("history", "--svg", "/proc/x.svg").on(daemon).exit == .failed)
    await daemon.stop()
  }

  @Test func `a sparkline is as high as its highest number`() {
    #expect(Sparkline.text([1, 4, 8], width: 10, unicode: true) == "▁▄█")
    #expect(Sparkline.text([0, 0], width: 10, unicode: false) == "__")
    #expect(Sparkline.text([1, 2, 3], width: 2, unicode: true).count == 2)
    #expect(Sparkline.text([], width: 2, unicode: true).isEmpty)
  }

  @Test func `a QR code has its three corners, and light around it`() throws {
    let code = try #require(QRCode("https://example.org/device?code=WDJB-MJHT"))
    for (x, y) in [(0, 0), (code.size - 7, 0), (0, code.size - 7)] {
      // A dark ring of 7, a light one of 5, a dark square of 3.
      for step in 0..<7 {
        #expect(code.isDark(x + step, y) && code.isDark(x, y + step))
        #expect(code.isDark(x + step, y + 6) && code.isDark(x + 6, y + step))
      }
      for step in 1..<6 { #expect(!code.isDark(x + step, y + 1)) }
      for step in 2..<5 { #expect(code.isDark(x + step, y + 3)) }
    }
    #expect(!code.isDark(-1, 0) && !code.isDark(0, code.size))
    #expect(QRCode(String(repeating: "x", count: 301)) == nil)
    #expect(QRCode("") == nil)
  }
}
