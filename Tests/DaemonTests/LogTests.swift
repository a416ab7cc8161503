import Execution
import Platform
import Session
import Testing

@testable import Daemon

/// What reaches the log, and in which form (I10).
@Suite(.timeLimit(.minutes(1)))
struct LogTests {
  private final class Lines: Sendable {
    private let lines = Locked<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    func log(_ level: Log.Level, _ form: Log.Form = .timestamped) -> Log {
      Log(
        level: level, form: form, wallTime: { WallTime(milliseconds: 1_800_000_000_000) },
        write: { line in self.lines.withLock { $0.append(line) } })
    }
  }

  private static let hostile =
    "a\u{1B}]0;title\u{7}b\u{1B}[31mc\r\n<0>d\u{0}\u{202E}e\u{9B}1mf\u{7F}"

  @Test(arguments: [Log.Form.timestamped, .prefixed])
  func `one message is one line without anything that a terminal obeys`(form: Log.Form) {
    let lines = Lines()
    lines.log(.debug, form)(.error, Self.hostile)
    #expect(lines.all.count == 1)
    let line = lines.all.first ?? ""
    #expect(line.hasSuffix("\n"))
    for scalar in line.unicodeScalars.dropLast() {
      #expect(scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value))
      #expect(scalar.value != 0x202E)
    }
  }

  @Test func `a level that is not wanted is not written`() {
    let lines = Lines()
    let log = lines.log(.warning)
    for level in [Log.Level.error, .warning, .notice, .info, .debug] { log(level, "\(level)") }
    #expect(lines.all.count == 2)
  }

  @Test func `the prefix is the level's number`() {
    let lines = Lines()
    lines.log(.debug, .prefixed)(.notice, "text")
    #expect(lines.all == ["<5>text\n"])
  }

  static let kinds: [SessionEvent.Kind] = [
    .signedIn, .imported, .refreshStarted, .refreshSucceeded, .refreshFailed, .lateResultRejected,
    .signedOut, .suspended, .resumed, .storeDegraded, .storeHealed,
  ]

  @Test(arguments: kinds)
  func `every event has its words and who did it`(kind: SessionEvent.Kind) {
    let event = SessionEvent(
      kind, generation: Generation(7), detail: "because", actorUID: 1001, httpStatus: 503)
    let line = EventLog.line(for: event)
    #expect(line.contains("generation 7"))
    #expect(line.hasSuffix(": because"))
    switch kind {
    case .signedIn, .imported, .signedOut, .resumed: #expect(line.contains("by uid 1001"))
    default: #expect(!line.contains("uid"))
    }
    #expect(EventLog.level(of: event) >= .error)
  }
}
