import Execution
import Requests
import Session

/// What the upstream said to a tip request.
struct TipReply: Sendable {
  /// Nil: what is cached still holds (304).
  let tip: Tip?
  let caching: CacheControl
  let entityTag: String?
  let lastModified: String?
  let receivedAt: WallTime
}

/// From an endpoint's answer to a caller's.
extension TipService {
  func endpoint(for key: TipKey, _ known: CachedTip?) -> Endpoint<TipReply> {
    var headers = [HTTPField("Accept", "application/json")]
    if let tag = known?.entityTag {
      headers.append(HTTPField("If-None-Match", tag))
    } else if let modified = known?.lastModified {
      headers.append(HTTPField("If-Modified-Since", modified))
    }
    let isConditional = headers.count > 1
    let (fields, freshness, ground) = (fields, freshness, ground)
    return Endpoint(
      .get, paths.path(of: key), fields: headers, repetition: .idempotent
    ) { (response) throws(RequestError) in
      let tip: Tip?
      switch response.status {
      case 304 where isConditional: tip = nil
      case 200: tip = try fields.read(response.body)
      default:
        throw .malformed(reason: "the upstream answers \(response.status) where a tip was asked")
      }
      let wallTime = ground.wallTime
      return TipReply(
        tip: tip,
        caching: CacheControl(response, silent: freshness.defaultLifetime, now: wallTime),
        entityTag: response.field("ETag"), lastModified: response.field("Last-Modified"),
        receivedAt: wallTime)
    }
  }

  /// The tip that an answer stands for; nil where a 304 has nothing to refer to any more.
  func cachedTip(
    _ fetched: Fetched<TipReply>, for key: TipKey, _ known: CachedTip?
  ) -> CachedTip? {
    guard let tip = fetched.value.tip ?? known?.tip else { return nil }
    let reply = fetched.value
    // A 304 that says nothing of it leaves what the answer itself had said (RFC 9111, section 3.2).
    let kept = reply.tip == nil && !reply.caching.isExplicit ? known : nil
    return CachedTip(
      key: key, tip: tip, session: fetched.session, generation: fetched.generation,
      fetchedAt: reply.receivedAt, freshFor: kept?.freshFor ?? reply.caching.lifetime ?? .zero,
      staleIfError: kept == nil ? reply.caching.staleIfError : kept?.staleIfError,
      staleWhileRevalidate: kept?.staleWhileRevalidate ?? reply.caching.staleWhileRevalidate,
      entityTag: reply.entityTag ?? (reply.tip == nil ? known?.entityTag : nil),
      lastModified: reply.lastModified ?? (reply.tip == nil ? known?.lastModified : nil))
  }

  func answer(
    _ fetched: Fetched<TipReply>, for key: TipKey, _ known: CachedTip?
  ) throws(RequestError) -> TipEntry {
    guard let tip = cachedTip(fetched, for: key, known) else {
      throw .malformed(reason: "the upstream says that nothing has changed, but nothing is held")
    }
    return entry(
      tip, fetched.value.tip == nil ? .revalidated : .network, ground.wallTime)
  }

  /// A failure that leaves open whether the tip has changed lets the cached one be served (I6: only
  /// the present session's; the cache holds no other).
  func fallBack(
    _ key: TipKey, _ generation: Generation, _ error: RequestError
  ) throws(TipError) -> TipEntry {
    let explained = explain(error, id: key.id)
    let reason: String
    switch explained {
    case .unavailable(let text, _, _), .malformed(let text): reason = text
    default: throw explained
    }
    let now = ground.wallTime
    guard generation == cache.generation, let cached = cache[key],
      freshness.mayServeStale(cached, now: now)
    else { throw explained }
    return entry(cached, .cache, now, stale: reason)
  }

  func explain(_ error: RequestError, id: String) -> TipError {
    switch error {
    case .session(let error): explain(error)
    case .transport(let reason):
      .unavailable(reason: reason, httpStatus: nil, retryAfter: nil)
    case .unavailable(let reason, let status, let retryAfter):
      .unavailable(reason: reason, httpStatus: status, retryAfter: retryAfter)
    case .refused(let reason, let status): .refused(reason: reason, httpStatus: status)
    case .notFound: .notFound(id: id)
    case .malformed(let reason): .malformed(reason: reason)
    case .invalidURL(let reason):
      .unavailable(
        reason: "the configured address cannot be used: \(reason)", httpStatus: nil,
        retryAfter: nil)
    case .otherType:
      .malformed(reason: "the same request is under way for another purpose; ask again")
    case .timedOut:
      .unavailable(
        reason: "the upstream did not answer in time", httpStatus: nil, retryAfter: nil)
    case .tooMany(let retryAfter): .tooMany(retryAfter: retryAfter)
    case .cancelled: .cancelled
    }
  }

  func explain(_ error: SessionError) -> TipError {
    switch error {
    case .signedOut(let generation, let reason):
      .signedOut(generation: generation, reason: reason)
    case .suspended(let reason): .suspended(reason: reason)
    case .refreshFailed(let reason, let status, let retryAfter):
      .unavailable(reason: reason, httpStatus: status, retryAfter: retryAfter)
    case .braked(let retryAfter):
      .unavailable(
        reason: "the upstream rejects each new token of the session", httpStatus: 401,
        retryAfter: retryAfter)
    case .storeFailed(let reason), .spentToken(let reason), .unusable(let reason):
      .unavailable(reason: reason, httpStatus: nil, retryAfter: nil)
    case .generationMoved(let generation):
      .signedOut(generation: generation, reason: "the session has been replaced")
    case .timedOut:
      .unavailable(
        reason: "the refresh of the session did not end in time", httpStatus: nil,
        retryAfter: nil)
    case .stopping:
      .unavailable(reason: "the daemon is stopping", httpStatus: nil, retryAfter: nil)
    case .cancelled: .cancelled
    }
  }
}

/// What may name a tip.
package enum TipIdentifier {
  /// Why an id cannot be asked for; nil: it can. `.` and `..` would be path segments.
  package static func fault(in id: String) -> String? {
    if id.isEmpty { return "an id has at least one byte" }
    if id.utf8.count > 256 { return "an id has at most 256 bytes" }
    if id == "." || id == ".." { return "`.` and `..` are not ids" }
    let hasControl = id.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return hasControl ? "an id has no control characters" : nil
  }
}
