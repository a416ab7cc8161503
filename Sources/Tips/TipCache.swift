import Execution
import Session

/// The tips of one session in memory. A value; it holds what the store holds, and answers without
/// it. Guards I6: it is emptied whenever the generation moves, and takes only its own session's.
struct TipCache {
  private(set) var generation: Generation = .none
  private(set) var session: SessionID?
  private var entries: [TipKey: CachedTip] = [:]
  /// Tips that the upstream does not have, with when that is asked anew.
  private var missing: [TipKey: Instant] = [:]
  private(set) var capacity: Int

  /// How long a 404 is believed.
  static let missingFor = Duration.seconds(60)
  /// Ids come from callers: what is remembered of them is bounded.
  static let mostMissing = 1_000

  init(capacity: Int) {
    self.capacity = max(1, capacity)
  }

  var count: Int { entries.count }

  mutating func resize(to capacity: Int) {
    self.capacity = max(1, capacity)
    while entries.count > self.capacity { evictOldest() }
  }

  mutating func reset(to generation: Generation, session: SessionID?) {
    self.generation = generation
    self.session = session
    entries = [:]
    missing = [:]
  }

  /// The upstream has no such tip: nor is a cached one served any more.
  mutating func remember(missing key: TipKey, at now: Instant, in generation: Generation) {
    guard generation == self.generation else { return }
    entries[key] = nil
    if missing.count >= Self.mostMissing { missing = missing.filter { $0.value > now } }
    guard missing.count < Self.mostMissing else { return }
    missing[key] = now.advanced(by: Self.missingFor)
  }

  func missing(_ key: TipKey, at now: Instant) -> TipError? {
    guard let until = missing[key], now < until else { return nil }
    return .notFound(id: key.id)
  }

  subscript(key: TipKey) -> CachedTip? { entries[key] }

  /// Refuses what another session or generation fetched.
  mutating func insert(_ tip: CachedTip) -> Bool {
    guard tip.generation == generation, tip.session == session else { return false }
    entries[tip.key] = tip
    missing[tip.key] = nil
    if entries.count > capacity { evictOldest() }
    return true
  }

  /// Takes up stored tips, newest first, as far as there is room; what was fetched meanwhile stays.
  mutating func fill(with stored: [CachedTip]) {
    entries.reserveCapacity(min(capacity, stored.count))
    for tip in stored where entries.count < capacity || tip.key == .today {
      guard entries[tip.key] == nil, missing[tip.key] == nil else { continue }
      _ = insert(tip)
    }
  }

  mutating func remove(_ key: TipKey) {
    entries[key] = nil
  }

  private mutating func evictOldest() {
    // Today's tip is the one that everybody asks for: it stays.
    let oldest = entries.values.filter { $0.key != .today }.min { $0.fetchedAt < $1.fetchedAt }
    if let oldest { entries[oldest.key] = nil }
  }

  /// Newest first; equal times in a fixed order, so that a page's end is a place to go on from.
  func newest(limit: Int, before: Cursor?) -> [CachedTip] {
    entries.values
      .filter { tip in before.map { Cursor(tip) < $0 } ?? true }
      .sorted { Cursor($1) < Cursor($0) }
      .prefix(limit).map(\.self)
  }

  /// A place in the list.
  struct Cursor: Comparable {
    var milliseconds: Int64
    var key: String

    init(_ tip: CachedTip) {
      milliseconds = tip.fetchedAt.milliseconds
      key = tip.key.text
    }

    /// `milliseconds/key`, as it was given out.
    init?(text: String) {
      let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let milliseconds = Int64(parts[0]) else { return nil }
      self.milliseconds = milliseconds
      key = String(parts[1])
    }

    var text: String { "\(milliseconds)/\(key)" }

    static func < (left: Cursor, right: Cursor) -> Bool {
      (left.milliseconds, left.key) < (right.milliseconds, right.key)
    }
  }
}
