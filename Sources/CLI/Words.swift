package import BrewlogAPI
package import Execution

/// Times and spans in the words that a person would use.
package struct Words: Sendable {
  package var now: WallTime
  /// Seconds east of UTC, where the reader is.
  package var utcOffset: Int

  package init(now: WallTime, utcOffset: Int) {
    self.now = now
    self.utcOffset = utcOffset
  }

  package static func span(_ seconds: Int) -> String {
    let seconds = max(0, seconds)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3600: return "\(seconds / 60) min"
    case ..<86_400:
      let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60)
      return hours < 10 && minutes > 0 ? "\(hours) h \(minutes) min" : "\(hours) h"
    default:
      let days = seconds / 86_400
      return days == 1 ? "1 day" : "\(days) days"
    }
  }

  package static func ago(_ seconds: Int) -> String {
    seconds < 10 ? "just now" : span(seconds) + " ago"
  }

  package static func count(_ number: Int, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }

  package static func bytes(_ number: Int) -> String {
    switch number {
    case ..<1024: "\(number) B"
    case ..<1_048_576: "\(number / 1024) KiB"
    default: "\(number / 1_048_576) MiB"
    }
  }

  /// Local time; the date is left out today. Text that is no moment is shown as it is.
  package func moment(_ text: String) -> String {
    guard let there = Timestamps.moment(text) else { return text }
    let shown = Timestamps.text(local(there))
    let day = shown.prefix(10)
    let time = shown.dropFirst(11).prefix(5)
    return day == Timestamps.text(local(now)).prefix(10) ? String(time) : "\(day) \(time)"
  }

  /// To the second, for lists of events.
  package func second(_ text: String) -> String {
    guard let there = Timestamps.moment(text) else { return text }
    let shown = Timestamps.text(local(there))
    return "\(shown.prefix(10)) \(shown.dropFirst(11).prefix(8))"
  }

  /// `in 12 min (14:03)`, `3 min ago (13:48)`.
  package func relative(_ text: String) -> String {
    guard let there = Timestamps.moment(text) else { return text }
    let seconds = (there.milliseconds - now.milliseconds) / 1000
    let words =
      seconds > 0 ? "in " + Self.span(Int(clamping: seconds)) : Self.ago(Int(clamping: -seconds))
    return "\(words) (\(moment(text)))"
  }

  /// Seconds until then, negative when it is past; nil where the text is no moment.
  package func secondsUntil(_ text: String) -> Int? {
    Timestamps.moment(text).map { Int(clamping: ($0.milliseconds - now.milliseconds) / 1000) }
  }

  /// How old an answer is, and why it is not newer.
  package static func freshness(_ provenance: Provenance) -> String {
    let age = ago(provenance.ageSeconds)
    if provenance.stale {
      let reason = provenance.staleReason ?? "the upstream could not be asked"
      return "offline: \(reason) (fetched \(age))"
    }
    switch provenance.source {
    case .revalidated: return "checked \(age), unchanged"
    default: return "fetched \(age)"
    }
  }

  private func local(_ moment: WallTime) -> WallTime {
    moment.advanced(by: .seconds(utcOffset))
  }
}
