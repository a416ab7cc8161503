package import Execution

/// Moments as the contract writes them: RFC 3339 text in UTC, with milliseconds where there are
/// any. Written out by hand since no formatter is needed for one fixed form, and a parser that
/// takes exactly this cannot be surprised by a peer.
package enum Timestamps {
  /// Years outside 0000 to 9999 have no RFC 3339 form; they are shown as the nearest that has one.
  private static let bounds: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  package static func text(_ moment: WallTime) -> String {
    let milliseconds = min(max(moment.milliseconds, bounds.lowerBound), bounds.upperBound)
    let (days, inDay) = floorDivided(milliseconds, 86_400_000)
    let (year, month, day) = civil(days)
    let fraction = inDay % 1000
    let seconds = inDay / 1000
    let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    let time =
      "\(padded(seconds / 3600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))"
    return fraction == 0 ? "\(date)T\(time)Z" : "\(date)T\(time).\(padded(fraction, 3))Z"
  }

  /// Nil where the text is not RFC 3339; an offset is taken into account, and digits past the
  /// milliseconds are cut.
  package static func moment(_ text: String) -> WallTime? {
    var scanner = Scanner(rest: Array(text.utf8)[...])
    guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2),
      scanner.take("-"), let day = scanner.number(2), scanner.take("T") || scanner.take("t"),
      let hour = scanner.number(2), scanner.take(":"), let minute = scanner.number(2),
      scanner.take(":"), let second = scanner.number(2),
      (1...12).contains(month), (1...daysIn(month, of: year)).contains(day), hour < 24,
      minute < 60, second <= 60
    else { return nil }
    guard let milliseconds = scanner.fraction(), let offset = scanner.offsetMinutes(),
      scanner.rest.isEmpty
    else { return nil }
    let minutes = (daysSince1970(year, month, day) * 24 + hour) * 60 + minute - offset
    return WallTime(milliseconds: (minutes * 60 + second) * 1000 + milliseconds)
  }

  // The calendar that RFC 3339 uses, the proleptic Gregorian one, counted in 400-year eras that
  // begin in March: leap days then come last, and every step is a division.
  private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
    let (era, dayOfEra) = floorDivided(days + 719_468, 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1
    )
  }

  private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let (era, yearOfEra) = floorDivided(month <= 2 ? year - 1 : year, 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func floorDivided(_ number: Int64, _ divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  private struct Scanner {
    var rest: ArraySlice<UInt8>

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func number(_ width: Int) -> Int64? {
      let digits = rest.prefix(width)
      guard digits.count == width, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
      }
      rest.removeFirst(width)
      return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    mutating func fraction() -> Int64? {
      guard take(".") else { return 0 }
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      guard !digits.isEmpty else { return nil }
      rest.removeFirst(digits.count)
      let first = digits.prefix(3).map { Int64($0 - 0x30) }
      return (first + [0, 0]).prefix(3).reduce(0) { $0 * 10 + $1 }
    }

    mutating func offsetMinutes() -> Int64? {
      if take("Z") || take("z") { return 0 }
      let sign: Int64 = take("-") ? -1 : 1
      guard sign < 0 || take("+"), let hours = number(2), take(":"), let minutes = number(2),
        hours < 24, minutes < 60
      else { return nil }
      return sign * (hours * 60 + minutes)
    }
  }
}
