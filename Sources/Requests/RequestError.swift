package import Session

/// Why a request brought nothing.
package enum RequestError: Error, Equatable, Sendable {
  /// The session: none, suspended, its refresh failed.
  case session(SessionError)
  /// No whole answer, tries used up.
  case transport(reason: String)
  /// The upstream cannot be used now (408, 429, 5xx).
  case unavailable(reason: String, httpStatus: Int?, retryAfter: Duration?)
  /// The upstream refused this request (a second 401, 403, other 4xx).
  case refused(reason: String, httpStatus: Int)
  /// 404 or 410.
  case notFound
  /// An answer that is not what was asked for.
  case malformed(reason: String)
  case invalidURL(reason: String)
  /// The same request is under way for an answer of another type.
  case otherType
  /// This caller has begun more requests than its share.
  case tooMany(retryAfter: Duration)
  /// The caller's deadline passed; the request goes on for others.
  case timedOut
  /// The caller left.
  case cancelled
}
