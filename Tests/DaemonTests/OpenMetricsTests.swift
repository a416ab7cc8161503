import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(1)))
struct OpenMetricsTests {
  @Test func `a counter's family is without the suffix of its samples`() {
    var text = OpenMetricsText()
    text.counter("brewlog_calls", "Calls.", [([.init("a", "x\"y\\z\n")], 3)])
    #expect(
      text.finished() == """
        # TYPE brewlog_calls counter
        # HELP brewlog_calls Calls.
        brewlog_calls_total{a="x\\"y\\\\z\\n"} 3
        # EOF

        """)
  }

  @Test func `a histogram's buckets add up and end at infinity`() {
    var histogram = Histogram(bounds: [0.1, 1])
    for span in [Duration.milliseconds(50), .milliseconds(100), .milliseconds(500), .seconds(3)] {
      histogram.record(span)
    }
    var text = OpenMetricsText()
    text.histogram("brewlog_x_seconds", unit: "seconds", "X.", [([], histogram)])
    let lines = text.text.split(separator: "\n").map(String.init)
    #expect(lines.contains("# UNIT brewlog_x_seconds seconds"))
    #expect(lines.contains("brewlog_x_seconds_bucket{le=\"0.1\"} 2"))
    #expect(lines.contains("brewlog_x_seconds_bucket{le=\"1.0\"} 3"))
    #expect(lines.contains("brewlog_x_seconds_bucket{le=\"+Inf\"} 4"))
    #expect(lines.contains("brewlog_x_seconds_count 4"))
    #expect(lines.contains("brewlog_x_seconds_sum 3.65"))
  }

  @Test func `exactly one state holds`() {
    var text = OpenMetricsText()
    text.stateSet("brewlog_s", "S.", ["a", "b"], present: "b")
    #expect(text.text.contains("brewlog_s{brewlog_s=\"a\"} 0\n"))
    #expect(text.text.contains("brewlog_s{brewlog_s=\"b\"} 1\n"))
  }
}
