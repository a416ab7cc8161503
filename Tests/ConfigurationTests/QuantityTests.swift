import Configuration
import Testing

@Suite(.timeLimit(.minutes(1)))
struct QuantityTests {
  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("1h 30min", .seconds(5400)),
    ("1h30min", .seconds(5400)),
    ("2 weeks", .seconds(1_209_600)), ("60", .seconds(60)), ("1.5s", .milliseconds(1500)),
    (".5s", .milliseconds(500)), ("7d", .seconds(604_800)), ("20 us", .microseconds(20)),
    ("3µs", .microseconds(3)), ("3μs", .microseconds(3)), ("1m", .seconds(60)),
    ("1M", .seconds(2_629_800)), ("1y", .seconds(31_557_600)), ("0", .zero),
    ("1 h 2 s 3 ms", .milliseconds(3_602_003)), ("5 5", .seconds(10)), ("  10s ", .seconds(10)),
  ])
  func `spans read as systemd writes them`(text: String, span: Duration) {
    #expect(TimeSpan.parse(text) == span)
  }

  @Test(arguments: [
    "", " ", "soon", "-1s", "1x", "s", "1.s", "1s,", "1e3", "99999999999999999999",
    "300000000000000y", "+1", "1 fortnight", "٣s", "nan", "1h-",
  ])
  func `what is no span is not guessed at`(text: String) {
    #expect(TimeSpan.parse(text) == nil)
  }

  @Test(arguments: [
    ("64K", 65536), ("1M", 1_048_576), ("1.5M", 1_572_864), ("4096", 4096), ("4096B", 4096),
    ("1 G", 1 << 30), ("0", 0),
  ])
  func `sizes are to the base 1024`(text: String, bytes: Int) {
    #expect(ByteSize.parse(text) == bytes)
  }

  @Test(arguments: ["", "64k", "K", "-1", "1KB", "99999999999T", "1 2"])
  func `what is no size is not guessed at`(text: String) {
    #expect(ByteSize.parse(text) == nil)
  }
}
