import Execution

/// Keeps a failure that goes on from filling the log: the first line of a kind is written at once,
/// its like are counted for a while, and one line says how many they were. Lines are alike if they
/// differ in numbers only. A value; whoever holds it gives the time.
struct LogThrottle {
  struct Line: Equatable, Sendable {
    var level: Log.Level
    var message: String
    var fields: LogFields
  }

  private struct Kind {
    var opened: Instant
    var written: Int
    var held: Int
    var last: Line
  }

  /// How long lines of one kind are counted before the next summary.
  static let window = Duration.seconds(60)
  /// Ordinary news may come in groups; a failure is told once.
  static let allowance = 10
  /// Past so many kinds at once nothing is held back: the memory is bounded, and so is what people
  /// can make of such a log.
  static let mostKinds = 200

  private var kinds: [String: Kind] = [:]

  /// The lines to write now: the given one if it is not held back, and summaries that are due.
  mutating func admit(_ line: Line, at now: Instant) -> [Line] {
    var lines = summaries(at: now, all: false)
    if line.fields.isEvidence || line.level == .debug { return lines + [line] }
    let key = Self.key(of: line.message)
    guard var kind = kinds[key] else {
      if kinds.count < Self.mostKinds {
        kinds[key] = Kind(opened: now, written: 1, held: 0, last: line)
      }
      lines.append(line)
      return lines
    }
    kind.last = line
    if line.level >= .notice && kind.written < Self.allowance {
      kind.written += 1
      lines.append(line)
    } else {
      kind.held += 1
    }
    kinds[key] = kind
    return lines
  }

  /// What was held back in windows that are over; in open ones too, if `all`.
  mutating func summaries(at now: Instant, all: Bool) -> [Line] {
    var lines: [Line] = []
    for (key, kind) in kinds.sorted(by: { $0.value.opened < $1.value.opened })
    where all || kind.opened.duration(to: now) >= Self.window {
      if kind.held == 0 {
        kinds[key] = nil
        continue
      }
      var line = kind.last
      let seconds = kind.opened.duration(to: now).secondsRoundedUp
      line.message += " (\(kind.held) more like this in \(seconds) s)"
      lines.append(line)
      // It goes on: the next window begins with this summary instead of a line of its own.
      kinds[key] = Kind(opened: now, written: Self.allowance, held: 0, last: kind.last)
    }
    return lines
  }

  /// The message with each run of digits as one mark.
  private static func key(of message: String) -> String {
    var key = ""
    var isInNumber = false
    for scalar in message.unicodeScalars {
      let isDigit = ("0"..."9").contains(scalar)
      if !isDigit { key.unicodeScalars.append(scalar) } else if !isInNumber { key += "#" }
      isInNumber = isDigit
    }
    return key
  }
}
