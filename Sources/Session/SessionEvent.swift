package import Execution

/// Something that happened to the session: for the log, for watchers, for the history. Never
/// carries a token.
package struct SessionEvent: Equatable, Sendable {
  package enum Kind: String, Sendable {
    case signedIn, imported, refreshStarted, refreshSucceeded, refreshFailed, lateResultRejected
    case signedOut, suspended, resumed, storeDegraded, storeHealed
    case loginPending, loginFailed, revocationDone, revocationFailed
  }

  package var kind: Kind
  package var generation: Generation
  package var detail: String?
  package var actorUID: UInt32?
  package var httpStatus: Int?

  package init(
    _ kind: Kind, generation: Generation, detail: String? = nil, actorUID: UInt32? = nil,
    httpStatus: Int? = nil
  ) {
    self.kind = kind
    self.generation = generation
    self.detail = detail
    self.actorUID = actorUID
    self.httpStatus = httpStatus
  }
}

/// What the coordinator has done since it started.
package struct SessionCounters: Equatable, Sendable {
  package var refreshesStarted = 0
  package var refreshesSucceeded = 0
  package var refreshesFailed = 0
  package var refreshWaitersJoined = 0
  package var lateResultsRejected = 0

  package init() {}
}

/// The session as it is in memory, to be shown.
package struct SessionSnapshot: Equatable, Sendable {
  package enum Activity: Equatable, Sendable {
    case idle, refreshing, backingOff
  }

  package var phase: SessionMachine.Phase
  package var activity: Activity
  package var generation: Generation
  package var durable: Bool
  package var facts: SessionFacts?
  package var accessToken: Fingerprint?
  package var refreshToken: Fingerprint?
  package var lastRefreshError: String?
  package var nextRefreshAt: WallTime?
  package var loginForecast: LoginForecast?
}

/// The two steps in which a move of the generation reaches those who act for a session. Both are
/// told on the coordinator's ground, synchronously.
package enum Boundary: Sendable {
  /// In memory the generation has moved: start nothing, end what is under way, keep the callers.
  /// `session` is the new one's id, if there is one.
  case moved(to: Generation, session: SessionID?)
  /// The store has followed: answer the callers of older generations.
  case published(Generation, reason: String)
}
