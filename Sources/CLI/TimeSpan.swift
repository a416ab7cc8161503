/// Time spans as systemd writes them (systemd.time(7)): `90`, `500ms`, `1h 30min`, `2 days`.
package enum TimeSpan {
  /// Whole seconds, rounded up, as the contract's parameters are; nil where it is no span.
  package static func seconds(_ text: String) -> Int? {
    var rest = text[...]
    var total = 0.0
    var parts = 0
    while true {
      rest = rest.drop { $0 == " " }
      if rest.isEmpty { break }
      let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      guard let number = Double(digits) else { return nil }
      rest = rest.dropFirst(digits.count).drop { $0 == " " }
      let unit = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest.dropFirst(unit.count)
      guard let factor = unit.isEmpty ? 1 : units[String(unit)] else { return nil }
      total += number * factor
      parts += 1
    }
    let whole = total.rounded(.up)
    return parts > 0 && whole <= 1e15 ? Int(whole) : nil
  }

  private static let units: [String: Double] = [
    "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3,
    "s": 1, "sec": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hour": 3600, "hours": 3600,
    "d": 86_400, "day": 86_400, "days": 86_400, "w": 604_800, "week": 604_800, "weeks": 604_800,
  ]
}
