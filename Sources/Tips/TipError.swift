package import Session

/// Why a caller got no tip.
package enum TipError: Error, Equatable, Sendable {
  case signedOut(generation: Generation, reason: String)
  case suspended(reason: String)
  /// The upstream, or the daemon's own store, could not be used, and nothing cached may be served.
  case unavailable(reason: String, httpStatus: Int?, retryAfter: Duration?)
  /// The upstream refused this request although the session is valid.
  case refused(reason: String, httpStatus: Int)
  case notFound(id: String)
  case malformed(reason: String)
  /// The id cannot name a tip; the text says why.
  case invalidID(reason: String)
  /// This caller asks for more than its share of upstream requests.
  case tooMany(retryAfter: Duration)
  case cancelled
}

/// Where an answer came from.
package enum TipSource: Equatable, Sendable {
  case cache, network, revalidated
}

/// One tip as it is answered, with its provenance.
package struct TipEntry: Equatable, Sendable {
  package var cached: CachedTip
  package var source: TipSource
  package var age: Duration
  /// Not nil: served past its freshness lifetime, for this reason.
  package var staleReason: String?
}

/// What the tip service has done since it started.
package struct TipCounters: Equatable, Sendable {
  package var cacheHits = 0
  package var cacheMisses = 0
}
