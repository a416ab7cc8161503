package import JSON

/// One tip on the wire; `extra` carries every upstream field that has no name here, unchanged.
package struct Tip: Codable, Hashable, Sendable {
  package var id: String
  package var date: String?
  package var title: String
  package var body: String
  package var tags: [String]
  package var url: String?
  package var extra: [String: JSONValue]?

  package init(
    id: String, date: String? = nil, title: String, body: String, tags: [String],
    url: String? = nil, extra: [String: JSONValue]? = nil
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

/// Where an answer came from; `revalidated` is a cached one that the upstream has confirmed.
package enum TipSource: OpenName {
  case cache, network, revalidated
  case unknown(String)

  package static let known: [TipSource] = [.cache, .network, .revalidated]

  package var name: String {
    switch self {
    case .cache: "cache"
    case .network: "network"
    case .revalidated: "revalidated"
    case .unknown(let name): name
    }
  }
}

/// Where an answer came from, how old it is, and the generation of the session that fetched it (I6).
package struct Provenance: Codable, Hashable, Sendable {
  package var source: TipSource
  package var generation: Int
  package var fetchedAt: String
  package var ageSeconds: Int
  package var freshForSeconds: Int
  /// Past its lifetime, and served because the upstream could not be asked.
  package var stale: Bool
  /// Why, in words that a person can act on.
  package var staleReason: String?

  package init(
    source: TipSource, generation: Int, fetchedAt: String, ageSeconds: Int, freshForSeconds: Int,
    stale: Bool, staleReason: String? = nil
  ) {
    self.source = source
    self.generation = generation
    self.fetchedAt = fetchedAt
    self.ageSeconds = ageSeconds
    self.freshForSeconds = freshForSeconds
    self.stale = stale
    self.staleReason = staleReason
  }
}

/// A tip with where it came from.
package struct Entry: Codable, Hashable, Sendable {
  package var tip: Tip
  package var provenance: Provenance

  package init(tip: Tip, provenance: Provenance) {
    self.tip = tip
    self.provenance = provenance
  }
}
