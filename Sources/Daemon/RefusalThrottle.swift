import Execution

/// Keeps somebody who is refused over and over from filling the log: one line for each user and
/// method in ``interval``, and how many more there were. A value; whoever holds it gives the time.
struct RefusalThrottle {
  struct Kind: Hashable {
    var uid: UInt32
    var method: String
  }

  /// What is to be written of those that were held back.
  struct Summary: Equatable {
    var kind: Kind
    /// The last one's process.
    var pid: Int32
    var count: Int
  }

  private struct Entry {
    var until: Instant
    var pid: Int32
    var held: Int
  }

  static let interval = Duration.seconds(5)
  /// Past so many at once the newest are held back without a line of their own: memory is bounded.
  static let mostKinds = 1_000

  private var entries: [Kind: Entry] = [:]

  /// Whether this one is written now; else it is counted.
  mutating func admit(_ kind: Kind, pid: Int32, at now: Instant) -> Bool {
    if var entry = entries[kind] {
      entry.pid = pid
      entry.held += 1
      entries[kind] = entry
      return false
    }
    guard entries.count < Self.mostKinds else { return false }
    entries[kind] = Entry(until: now.advanced(by: Self.interval), pid: pid, held: 0)
    return true
  }

  /// Takes what is due. A kind that goes on stays held back; one that has ended is forgotten.
  mutating func summaries(at now: Instant) -> [Summary] {
    var due: [Summary] = []
    for (kind, entry) in entries where entry.until <= now {
      if entry.held == 0 {
        entries[kind] = nil
        continue
      }
      due.append(Summary(kind: kind, pid: entry.pid, count: entry.held))
      entries[kind] = Entry(until: now.advanced(by: Self.interval), pid: entry.pid, held: 0)
    }
    return due.sorted { ($0.kind.uid, $0.kind.method) < ($1.kind.uid, $1.kind.method) }
  }

  var isEmpty: Bool { entries.isEmpty }
}
