package import Execution
package import JSON
package import Session

/// One tip as it came: the fields with a name, and all others unchanged in `extra`.
package struct Tip: Hashable, Sendable {
  package var id: String
  package var date: String?
  package var title: String
  package var body: String
  package var tags: [String]
  package var url: String?
  package var extra: [String: JSONValue]

  package init(
    id: String, date: String? = nil, title: String, body: String, tags: [String] = [],
    url: String? = nil, extra: [String: JSONValue] = [:]
  ) {
    self.id = id
    self.date = date
    self.title = title
    self.body = body
    self.tags = tags
    self.url = url
    self.extra = extra
  }
}

/// What a tip is cached under: what was asked, not the id that came back.
package enum TipKey: Hashable, Sendable {
  case today
  case item(String)

  /// The key as it is stored.
  package var text: String {
    switch self {
    case .today: "today"
    case .item(let id): "item:" + id
    }
  }

  /// What a caller would call it.
  package var id: String {
    switch self {
    case .today: "today"
    case .item(let id): id
    }
  }

  package init?(text: String) {
    if text == "today" {
      self = .today
    } else if text.hasPrefix("item:") {
      self = .item(String(text.dropFirst(5)))
    } else {
      return nil
    }
  }
}

/// A tip with where it came from. It belongs to the session that fetched it (I6).
package struct CachedTip: Hashable, Sendable {
  package var key: TipKey
  package var tip: Tip
  package var session: SessionID
  package var generation: Generation
  package var fetchedAt: WallTime
  /// How long it is fresh, counted from `fetchedAt`.
  package var freshFor: Duration
  /// How long past `freshFor` it may be served when the upstream is away; nil: the configuration
  /// decides.
  package var staleIfError: Duration?
  /// How long past `freshFor` it may be served while it is asked for again.
  package var staleWhileRevalidate: Duration
  package var entityTag: String?
  package var lastModified: String?

  package init(
    key: TipKey, tip: Tip, session: SessionID, generation: Generation, fetchedAt: WallTime,
    freshFor: Duration, staleIfError: Duration? = nil, staleWhileRevalidate: Duration = .zero,
    entityTag: String? = nil, lastModified: String? = nil
  ) {
    self.key = key
    self.tip = tip
    self.session = session
    self.generation = generation
    self.fetchedAt = fetchedAt
    self.freshFor = freshFor
    self.staleIfError = staleIfError
    self.staleWhileRevalidate = staleWhileRevalidate
    self.entityTag = entityTag
    self.lastModified = lastModified
  }
}

/// Where tips are kept over a restart. It has a fence of its own: what does not carry the present
/// session's id and generation is purged before anything is served.
package protocol TipStore: Sendable {
  /// The stored tips of this session, newest first; all others are deleted.
  func load(session: SessionID, generation: Generation) async throws(StoreError) -> [CachedTip]

  /// One stored tip of this session, before all are loaded.
  func stored(
    _ key: TipKey, session: SessionID, generation: Generation
  ) async throws(StoreError) -> CachedTip?

  /// Stores a tip if the permit's generation and session are the store's own.
  func put(_ tip: CachedTip, permit: consuming WritePermit) async throws(StoreError)

  /// Deletes a tip that the upstream no longer has, if the permit is the store's own.
  func remove(_ key: TipKey, permit: consuming WritePermit) async throws(StoreError)

  /// Deletes all but the newest `keep` tips, and never today's.
  func prune(keep: Int) async throws(StoreError)
}

/// What a store answers that forgets by itself (a test's).
extension TipStore {
  package func remove(_ key: TipKey, permit: consuming WritePermit) async throws(StoreError) {}
}
