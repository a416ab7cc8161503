/// Spans of time as systemd writes them (systemd.time(7)): `500ms`, `1h 30min`, `2 weeks`, `1.5s`;
/// a number without a unit counts seconds.
package enum TimeSpan {
  /// Microseconds of each unit. A month is 30.44 days and a year 365.25, as with systemd.
  private static let units: [(names: [String], microseconds: UInt64)] = [
    (["usec", "us", "µs", "μs"], 1),
    (["msec", "ms"], 1000),
    (["seconds", "second", "sec", "s", ""], 1_000_000),
    (["minutes", "minute", "min", "m"], 60_000_000),
    (["hours", "hour", "hr", "h"], 3_600_000_000),
    (["days", "day", "d"], 86_400_000_000),
    (["weeks", "week", "w"], 604_800_000_000),
    (["months", "month", "M"], 2_629_800_000_000),
    (["years", "year", "y"], 31_557_600_000_000),
  ]

  /// Nil: it is not a span, or longer than 64 bits of microseconds reach.
  package static func parse(_ text: String) -> Duration? {
    var rest = Substring(trimmed(text))
    guard !rest.isEmpty else { return nil }
    var total: UInt64 = 0
    while !rest.isEmpty {
      guard let number = DecimalNumber(takenFrom: &rest) else { return nil }
      rest = rest.drop { $0.isWhitespace }
      let unit = String(rest.prefix { !$0.isWhitespace && !$0.isASCIIDigit && $0 != "." })
      rest = rest.dropFirst(unit.count).drop { $0.isWhitespace }
      guard let entry = units.first(where: { $0.names.contains(unit) }),
        let part = number.times(entry.microseconds)
      else { return nil }
      let (sum, overflow) = total.addingReportingOverflow(part)
      guard !overflow, sum <= UInt64(Int64.max) else { return nil }
      total = sum
    }
    return .microseconds(Int64(total))
  }
}

/// Sizes in bytes, with the suffixes of systemd's files (`64K`, `1.5M`; to the base 1024).
package enum ByteSize {
  private static let factors: [(suffix: String, bytes: UInt64)] = [
    ("", 1), ("B", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40),
  ]

  package static func parse(_ text: String) -> Int? {
    var rest = Substring(trimmed(text))
    guard let number = DecimalNumber(takenFrom: &rest) else { return nil }
    let suffix = trimmed(rest)
    guard let factor = factors.first(where: { $0.suffix == suffix }) else { return nil }
    return number.times(factor.bytes).flatMap { Int(exactly: $0) }
  }
}

/// A number without a sign, its fraction kept in millionths.
private struct DecimalNumber {
  private let whole: UInt64
  private let millionths: UInt64

  init?(takenFrom text: inout Substring) {
    let digits = text.prefix { $0.isASCIIDigit }
    var rest = text.dropFirst(digits.count)
    var fraction: Substring = ""
    if rest.first == "." {
      fraction = rest.dropFirst().prefix { $0.isASCIIDigit }
      guard !fraction.isEmpty else { return nil }
      rest = rest.dropFirst(1 + fraction.count)
    }
    guard !digits.isEmpty || !fraction.isEmpty else { return nil }
    guard let whole = digits.isEmpty ? 0 : UInt64(digits) else { return nil }
    self.whole = whole
    let padded = (fraction + "000000").prefix(6)
    millionths = UInt64(padded) ?? 0
    text = rest
  }

  /// Nil: it does not fit.
  func times(_ unit: UInt64) -> UInt64? {
    let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
    let (part, partOverflow) = millionths.multipliedReportingOverflow(by: unit)
    guard !overflow, !partOverflow else { return nil }
    let (sum, sumOverflow) = product.addingReportingOverflow(part / 1_000_000)
    return sumOverflow ? nil : sum
  }
}

extension Character {
  var isASCIIDigit: Bool { isASCII && isWholeNumber }
}
