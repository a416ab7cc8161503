package import Execution

/// One refresh under way. Its generation is fixed where it is created; every step of it is checked
/// against the machine again after each `await`.
package struct RefreshFlight: Equatable, Sendable {
  package enum Cause: String, Sendable {
    case rejected, expired, proactive, explicit
  }

  package let id: UInt64
  package let generation: Generation
  package let session: SessionID
  package let cause: Cause
}

/// Decides what may happen next to the session. A value without I/O, clocks or tasks: the
/// coordinator carries out what it answers, and tests drive it alone.
///
/// Guards I1 (one flight; a replaced token starts none), I2 (what is not of the present generation
/// and flight changes nothing) and I8 (backoff after failure).
package struct SessionMachine: Sendable {
  package enum Phase: Equatable, Sendable {
    case signedOut(reason: String)
    case signedIn
    case suspended(reason: String)
  }

  package internal(set) var policy: SessionPolicy
  package internal(set) var phase: Phase = .signedOut(reason: "never signed in")
  package internal(set) var generation: Generation
  package internal(set) var facts: SessionFacts?
  package internal(set) var flight: RefreshFlight?
  package internal(set) var hasRefreshToken = false
  package internal(set) var hasAccessToken = false
  package internal(set) var accessSerial: UInt64 = 0
  package internal(set) var accessReceived = Instant(nanoseconds: 0)
  package internal(set) var accessExpires: Instant?
  package internal(set) var backoff = RefreshBackoff()
  package internal(set) var brake = RefreshBrake()
  /// The stored session came from another machine, and nobody has said that it is right.
  package internal(set) var isCopied = false
  /// Set while an earlier refresh of the present token has an outcome that is not known.
  package internal(set) var unknownOutcomes = 0
  /// The highest number that was given to a generation, published or not.
  var reserved: Generation
  /// The configuration's.
  var binding: UpstreamBinding?
  private var nextFlight: UInt64 = 0

  package init(policy: SessionPolicy) {
    self.policy = policy
    generation = .none
    reserved = .none
  }

  package var accessVersion: TokenVersion {
    TokenVersion(generation: generation, serial: accessSerial)
  }

  /// What a caller of the machine needs.
  package enum Need: Equatable, Sendable {
    /// A token that is not known to be dead.
    case token
    /// Another token than this one, which was rejected.
    case replacement(of: TokenVersion)
    /// A refresh, whatever the token's state.
    case refresh
    /// A refresh, since the token is about to expire.
    case renewal
  }

  package enum Demand: Equatable, Sendable {
    /// The present token serves.
    case use
    case join(RefreshFlight)
    case start(RefreshFlight)
    case refused(SessionError)
    /// The session cannot go on: it has no refresh token and its access token is dead.
    case end(reason: String)
  }

  package mutating func demand(_ need: Need, now: Instant) -> Demand {
    if let error = unavailable { return .refused(error) }
    guard let facts else { return .refused(signedOutError) }
    let cause: RefreshFlight.Cause
    switch need {
    case .token:
      if hasAccessToken, !isExpired(at: now) { return .use }
      cause = .expired
    case .replacement(let rejected):
      if rejected != accessVersion { return .use }
      cause = .rejected
    case .refresh: cause = .explicit
    case .renewal: cause = .proactive
    }
    if let flight { return .join(flight) }
    if !hasRefreshToken, !policy.refreshesWithoutToken {
      return cause == .explicit || cause == .proactive
        ? .refused(
          .refreshFailed(
            reason: "the session has no refresh token; sign in again", httpStatus: nil,
            retryAfter: nil))
        : .end(reason: "the access token ended and there is no refresh token to replace it")
    }
    if let held = backoff.holding(at: now) { return .refused(held) }
    if cause == .rejected,
      let pause = brake.pause(at: now, tokenAge: accessReceived.duration(to: now), policy: policy)
    {
      return .refused(.braked(retryAfter: pause))
    }
    nextFlight += 1
    let flight = RefreshFlight(
      id: nextFlight, generation: generation, session: facts.id, cause: cause)
    self.flight = flight
    return .start(flight)
  }

  package func isExpired(at now: Instant) -> Bool {
    accessExpires.map { $0 <= now } ?? false
  }

  /// Whether a flight is still the one in the slot; a move of the generation empties that.
  package func isCurrent(_ flight: RefreshFlight) -> Bool {
    self.flight == flight
  }

  package var isAvailable: Bool {
    if case .signedIn = phase { true } else { false }
  }

  /// Why nothing can be sent now, if so.
  package var unavailable: SessionError? {
    switch phase {
    case .signedIn: nil
    case .signedOut: signedOutError
    case .suspended(let reason): .suspended(reason: reason)
    }
  }

  package var signedOutError: SessionError {
    if case .signedOut(let reason) = phase {
      .signedOut(generation: generation, reason: reason)
    } else {
      .signedOut(generation: generation, reason: "the session was replaced by another")
    }
  }
}
