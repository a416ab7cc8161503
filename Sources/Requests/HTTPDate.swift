package import Execution

/// Dates as HTTP writes them: RFC 9110 section 5.6.7, all three forms. Read by hand, since neither
/// Foundation has them.
package enum HTTPDate {
  /// Nil where the text is none of the forms, or names a moment that does not exist. `now` says
  /// which century a two-digit year belongs to.
  package static func parse(_ text: String, now: WallTime) -> WallTime? {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    switch words.count {
    case 6 where words[5] == "GMT":
      // Sun, 06 Nov 1994 08:49:37 GMT
      guard words[0].hasSuffix(","), words[3].utf8.count == 4 else { return nil }
      return moment(year: digits(words[3]), month: words[2], day: words[1], time: words[4])
    case 4 where words[3] == "GMT":
      // Sunday, 06-Nov-94 08:49:37 GMT
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard words[0].hasSuffix(","), date.count == 3, date[2].utf8.count == 2,
        let short = digits(date[2])
      else { return nil }
      let year = fullYear(short, now: now)
      return moment(year: year, month: date[1], day: date[0], time: words[2])
    case 5:
      // Sun Nov  6 08:49:37 1994
      guard words[4].utf8.count == 4 else { return nil }
      return moment(year: digits(words[4]), month: words[1], day: words[2], time: words[3])
    default: return nil
    }
  }

  /// A year that seems to lie more than 50 years ahead is the last past one that ends so.
  private static func fullYear(_ short: Int, now: WallTime) -> Int {
    let present = 1970 + Int(now.milliseconds / 31_556_952_000)
    let candidate = present - present % 100 + short
    return candidate > present + 50 ? candidate - 100 : candidate
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func moment(
    year: Int?, month: Substring, day: Substring, time: Substring
  ) -> WallTime? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map(digits)
    guard let year, year >= 1601, let month = months.firstIndex(of: String(month)),
      let day = digits(day), day >= 1, day <= length(ofMonth: month, in: year),
      clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
      hour < 24, minute < 60, second <= 60
    else { return nil }
    let days = daysSince1970(year: year, month: month + 1, day: day)
    return WallTime(
      milliseconds: Int64(((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
  }

  private static func length(ofMonth month: Int, in year: Int) -> Int {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
  }

  /// Years are counted from March, so that the leap day is a year's last.
  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let y = month <= 2 ? year - 1 : year
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    return y * 365 + y / 4 - y / 100 + y / 400 + dayOfYear - 719_468
  }

  private static func digits(_ text: Substring) -> Int? {
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return Int(text)
  }
}

/// What a `Retry-After` field says (RFC 9110 section 10.2.3).
package enum RetryAfter {
  /// Waits beyond this are cut to it: no sum with them can overflow.
  private static let longest = 1_000_000_000

  /// Nil: no field, or none that can be read; negative numbers and fractions cannot.
  package static func parse(_ response: HTTPResponse, now: WallTime) -> Duration? {
    guard let text = response.field("Retry-After") else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return .seconds(min(Int(text) ?? longest, longest))
    }
    guard let until = HTTPDate.parse(text, now: now) else { return nil }
    // The server's own clock is the one that it counted with.
    let served = response.field("Date").flatMap { HTTPDate.parse($0, now: now) }
    return min(max(.zero, (served ?? now).duration(to: until)), .seconds(longest))
  }
}
