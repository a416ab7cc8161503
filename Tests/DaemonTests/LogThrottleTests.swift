import Execution
import Platform
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(1)))
struct LogThrottleTests {
  private func warning(_ text: String) -> LogThrottle.Line {
    LogThrottle.Line(level: .warning, message: text, fields: LogFields())
  }

  private func at(_ seconds: Int) -> Instant {
    Instant(nanoseconds: UInt64(seconds) * 1_000_000_000)
  }

  @Test func `B186: an hour of the same failure each second is a line a minute`() {
    var throttle = LogThrottle()
    var lines: [LogThrottle.Line] = []
    for second in 0..<3600 {
      lines += throttle.admit(
        warning("the refresh failed (HTTP 503), try \(second)"), at: at(second))
    }
    #expect(lines.count == 60)
    #expect(lines.first?.message == "the refresh failed (HTTP 503), try 0")
    #expect(lines.last?.message.contains("more like this in 60 s") == true)
  }

  @Test func `another failure is not hidden by the first`() {
    var throttle = LogThrottle()
    _ = throttle.admit(warning("a"), at: at(0))
    _ = throttle.admit(warning("a"), at: at(1))
    #expect(throttle.admit(warning("b"), at: at(2)).map(\.message) == ["b"])
  }

  @Test func `evidence is never held back`() {
    var throttle = LogThrottle()
    var line = warning("signed out")
    line.fields.isEvidence = true
    for second in 0..<50 { #expect(throttle.admit(line, at: at(second)) == [line]) }
  }

  @Test func `what was held back is written at the end`() {
    var throttle = LogThrottle()
    for second in 0..<4 { _ = throttle.admit(warning("a"), at: at(second)) }
    let rest = throttle.summaries(at: at(5), all: true)
    #expect(rest.map(\.message) == ["a (3 more like this in 5 s)"])
    #expect(throttle.summaries(at: at(6), all: true).isEmpty)
  }

  @Test func `a failure that stops is forgotten`() {
    var throttle = LogThrottle()
    _ = throttle.admit(warning("a"), at: at(0))
    #expect(throttle.summaries(at: at(61), all: false).isEmpty)
    #expect(throttle.admit(warning("a"), at: at(62)).count == 1)
  }
}

@Suite(.timeLimit(.minutes(1)))
struct LogFormTests {
  private func lines(_ form: Log.Form, _ work: (Log) -> Void) -> [String] {
    let lines = Locked<[String]>([])
    let log = Log(
      level: .info, form: form, wallTime: { WallTime(milliseconds: 0) },
      now: { Instant(nanoseconds: 0) }, write: { line in lines.withLock { $0.append(line) } })
    work(log)
    return lines.withLock { $0 }
  }

  @Test func `a service manager gets the level in front, people the moment`() {
    #expect(lines(.prefixed) { $0(.warning, "a") } == ["<4>a\n"])
    #expect(lines(.timestamped) { $0(.error, "a") } == ["1970-01-01T00:00:00Z error: a\n"])
  }

  @Test func `what is below the level is not written, and a reload changes that`() {
    let written = lines(.prefixed) { log in
      log(.debug, "a")
      log.setLevel(.debug)
      log(.debug, "b")
    }
    #expect(written == ["<7>b\n"])
  }

  @Test func `a line cannot be broken or coloured by what it quotes`() {
    let written = lines(.prefixed) { $0(.info, "a\n<0>b\u{1B}[31m") }
    #expect(written.count == 1)
    #expect(written.first?.dropLast().contains { $0.isNewline } == false)
    #expect(written.first?.contains("\u{1B}") == false)
  }

  @Test func `every event of the session has a message id, and no id is another's`() {
    let ids = MessageID.ids
    #expect(Set(ids.values).count == ids.count)
    for event in ["signedIn", "signedOut", "refreshFailed", "storeDegraded", "upstreamAway"] {
      #expect(MessageID.of(event) != nil)
    }
    let fields = LogFields(event: "refreshFailed", generation: 3, upstreamStatus: 503)
    let entry = fields.entry(level: .warning, message: "m").map { "\($0.name)=\($0.value)" }
    #expect(entry.contains("BREWLOG_GENERATION=3"))
    #expect(entry.contains("BREWLOG_UPSTREAM_STATUS=503"))
    #expect(entry.contains("PRIORITY=4"))
  }
}
