package import Execution

/// Holds refreshes back after failures: the n-th in a row by 1 s × 2^(n-1), at most five minutes,
/// spread by jitter, or by the upstream's `Retry-After` if that is longer (I8).
package struct RefreshBackoff: Equatable, Sendable {
  package private(set) var failures = 0
  /// Refusals in a row, to the same token, that named no known reason.
  package private(set) var unclearRefusals = 0
  package private(set) var notBefore: Instant?
  package private(set) var reason = ""
  package private(set) var httpStatus: Int?

  package init() {}

  /// The answer to a caller who asks too early.
  package func holding(at now: Instant) -> SessionError? {
    guard let notBefore, now < notBefore else { return nil }
    let wait: Duration? = notBefore == .distantFuture ? nil : now.duration(to: notBefore)
    return .refreshFailed(reason: reason, httpStatus: httpStatus, retryAfter: wait)
  }

  /// Takes a failure in; returns how long the next refresh is held back, nil for ever.
  package mutating func add(
    _ failure: RefreshFailure, now: Instant, policy: SessionPolicy, jitter: Double
  ) -> Duration? {
    reason = failure.reason
    httpStatus = failure.httpStatus
    unclearRefusals = failure.kind == .refusedUnclearly ? unclearRefusals + 1 : 0
    if failure.kind == .cancelled { return .zero }
    if failure.kind == .misconfigured {
      notBefore = .distantFuture
      return nil
    }
    failures += 1
    let pause = Self.pause(afterFailures: failures, policy: policy, jitter: jitter)
    let longest = max(pause, failure.retryAfter ?? .zero)
    notBefore = now.advanced(by: longest)
    return longest
  }

  package static func pause(
    afterFailures failures: Int, policy: SessionPolicy, jitter: Double
  ) -> Duration {
    let doublings = min(max(0, failures - 1), 20)
    let plain = min(policy.firstBackoff * (1 << doublings), policy.longestBackoff)
    return plain + plain * (jitter * policy.jitter)
  }

  /// Takes up what an earlier run of the daemon left.
  package mutating func restore(_ record: BackoffRecord, remaining: Duration, now: Instant) {
    failures = record.failures
    reason = record.reason
    notBefore = remaining > .zero ? now.advanced(by: remaining) : nil
  }
}

/// Stops loops that no backoff sees, since every refresh in them succeeds: after five refreshes
/// within 30 s, each for the rejection of a token younger than 30 s, refreshes pause 30 s,
/// doubling to five minutes. Explicit and expiry-driven refreshes do not count.
package struct RefreshBrake: Equatable, Sendable {
  private var recent: [Instant] = []
  private var pausedUntil: Instant?
  private var pauses = 0

  package init() {}

  /// Says how long a refresh for a rejected token has to wait, nil: not at all; then it counts.
  package mutating func pause(
    at now: Instant, tokenAge: Duration, policy: SessionPolicy
  ) -> Duration? {
    var sincePause: Duration?
    if let until = pausedUntil {
      if now < until { return now.duration(to: until) }
      sincePause = until.duration(to: now)
    }
    // A token that has served for so long is no loop's. One that only sat a pause out is as old, and
    // says nothing: the next pause is still the longer one.
    guard tokenAge < policy.brakeWindow else {
      if sincePause ?? tokenAge >= policy.brakeWindow { self = RefreshBrake() }
      return nil
    }
    recent.removeAll { $0.duration(to: now) >= policy.brakeWindow }
    if recent.count >= policy.brakeCount {
      let pause = min(
        policy.firstBrakePause * (1 << min(pauses, 10)), policy.longestBrakePause)
      pauses += 1
      pausedUntil = now.advanced(by: pause)
      recent = []
      return pause
    }
    recent.append(now)
    return nil
  }
}
