/// Why a caller of the coordinator got no token, or no change of the session.
package enum SessionError: Error, Equatable, Sendable {
  /// No session: never signed in, signed out, ended, or the generation moved while the caller
  /// waited (I2).
  case signedOut(generation: Generation, reason: String)
  /// There is a session, but nothing is sent with it until a person has looked.
  case suspended(reason: String)
  /// The refresh failed, or is not allowed yet (I8). The session stays.
  case refreshFailed(reason: String, httpStatus: Int?, retryAfter: Duration?)
  /// Fresh tokens keep being rejected; refreshes pause. Callers see the 401.
  case braked(retryAfter: Duration)
  /// The store takes no writes; nothing was changed and nothing sent.
  case storeFailed(reason: String)
  /// The generation is not the one that the caller asked for.
  case generationMoved(Generation)
  /// The refresh token is known to be spent.
  case spentToken(reason: String)
  /// What was handed over cannot be used; the text says what to give instead.
  case unusable(reason: String)
  /// The caller's deadline passed; the refresh goes on.
  case timedOut
  /// The caller left.
  case cancelled
  /// The daemon is stopping.
  case stopping
}

/// Why a logout could not be made to last: it holds in memory, and the daemon goes on trying.
package struct LogoutNotDurable: Error, Equatable, Sendable {
  package let generation: Generation
  package let reason: String
}
