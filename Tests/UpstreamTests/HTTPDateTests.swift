import Execution
import Requests
import Testing

@Suite(.timeLimit(.minutes(1)))
struct HTTPDateTests {
  private static let now = WallTime(milliseconds: 1_764_000_000_000)

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
    ("Tuesday, 01-Jan-30 00:00:00 GMT", 1_893_456_000),
  ])
  func `all three forms of a date are read`(text: String, seconds: Int64) {
    #expect(HTTPDate.parse(text, now: Self.now)?.milliseconds == seconds * 1000)
  }

  @Test(arguments: [
    "", "yesterday", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 31 Feb 2024 08:49:37 GMT", "Fri, 29 Feb 2023 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 8:60:00 GMT",
    "Sun, -6 Nov 1994 08:49:37 GMT",
    "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT",
  ])
  func `what is no date is none`(text: String) {
    #expect(HTTPDate.parse(text, now: Self.now) == nil)
  }

  @Test(arguments: [
    ("120", 120), ("0", 0), ("99999999999999999999999", 1_000_000_000),
    ("Mon, 24 Nov 2025 16:00:30 GMT", 30), ("Mon, 24 Nov 2025 15:00:00 GMT", 0),
  ])
  func `a wait is read as seconds or as a date`(text: String, seconds: Int) {
    let response = HTTPResponse(status: 429, fields: [HTTPField("retry-after", text)])
    #expect(RetryAfter.parse(response, now: Self.now) == .seconds(seconds))
  }

  @Test(arguments: ["-5", "abc", "1.5", "", " 5", "+5", "0x10", "٣"])
  func `a wait that cannot be read is none`(text: String) {
    let response = HTTPResponse(status: 429, fields: [HTTPField("Retry-After", text)])
    #expect(RetryAfter.parse(response, now: Self.now) == nil)
  }

  @Test func `a date counts from the server's own clock`() {
    let response = HTTPResponse(
      status: 503,
      fields: [
        HTTPField("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        HTTPField("Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT"),
      ])
    #expect(RetryAfter.parse(response, now: Self.now) == .seconds(30))
  }
}
