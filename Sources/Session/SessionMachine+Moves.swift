package import Execution

/// What changes the machine: a restart, the end of a flight, and the moves of the generation.
extension SessionMachine {
  /// Takes up what the store held. `binding` is the configuration's; a session that came from
  /// elsewhere is suspended and nothing is sent (I11).
  package mutating func restore(
    generation stored: Generation, facts: SessionFacts?, hasAccess: Bool, hasRefresh: Bool,
    binding: UpstreamBinding, reason: String?, now: Instant, wallTime: WallTime
  ) {
    self.binding = binding
    generation = stored
    reserved = max(reserved, stored)
    guard let facts else {
      phase = .signedOut(reason: reason ?? "never signed in")
      return
    }
    self.facts = facts
    hasAccessToken = hasAccess
    hasRefreshToken = hasRefresh
    accessSerial = 1
    // What was received in an earlier run is as old as the wall clock says, and ends no later than
    // if it came now: the clock may have been set back.
    accessReceived = now
    accessExpires = facts.accessTokenExpiresAt.map { end in
      let rest = min(wallTime.duration(to: end), facts.accessTokenReceivedAt.duration(to: end))
      return now.advanced(by: max(.zero, rest))
    }
    phase =
      facts.binding == binding
      ? .signedIn
      : .suspended(reason: Self.difference(between: facts.binding, and: binding))
  }

  /// The store was copied here, or the machine's id has changed: nothing is sent until a person has
  /// looked. Two hosts with one refresh token lose the session for both.
  package mutating func suspendCopy() {
    guard facts != nil, !policy.continuesOnMove else { return }
    isCopied = true
    phase = .suspended(
      reason: "the session was signed in on another machine; if it was moved here on purpose and "
        + "nothing uses it there any more: `brewlogctl resume`")
  }

  static func difference(between old: UpstreamBinding, and new: UpstreamBinding) -> String {
    let changes = [
      old.issuer == new.issuer ? nil : "issuer \(new.issuer) instead of \(old.issuer)",
      old.clientID == new.clientID ? nil : "client \(new.clientID) instead of \(old.clientID)",
      old.apiOrigin == new.apiOrigin ? nil : "API \(new.apiOrigin) instead of \(old.apiOrigin)",
    ].compactMap(\.self)
    return "the configuration names another upstream than the session was signed in with ("
      + changes.joined(separator: ", ") + "); mend it, or `brewlogctl resume` if it is right"
  }

  /// Keeps the backoff and the uncertain intent of an earlier run in force.
  package mutating func restore(
    backoff record: BackoffRecord?, intent: RefreshIntent?, now: Instant, wallTime: WallTime
  ) {
    if let intent { unknownOutcomes = intent.tries }
    guard var kept = record ?? crash(after: intent, record: nil) else { return }
    if let record, let crash = crash(after: intent, record: record) {
      kept = crash.notBefore > record.notBefore ? crash : record
      kept.failures = crash.failures
    }
    let pause = wallTime.duration(to: kept.notBefore)
    let longest = kept.pause ?? policy.longestStoredBackoff
    backoff.restore(kept, remaining: min(pause, longest), now: now)
  }

  /// A crash between sending and storing counts as a failure: no crash loop sends for ever. The
  /// intent of a failure that was recorded is older than that record's pause; a later one was never
  /// accounted for.
  private func crash(after intent: RefreshIntent?, record: BackoffRecord?) -> BackoffRecord? {
    guard let intent else { return nil }
    if let record {
      let latest = record.notBefore.advanced(by: .zero - policy.firstBackoff / 2)
      if intent.startedAt < latest { return nil }
    }
    let failures = max(intent.tries, (record?.failures ?? 0) + 1)
    let wait = RefreshBackoff.pause(afterFailures: failures, policy: policy, jitter: 0)
    return BackoffRecord(
      failures: failures, notBefore: intent.startedAt.advanced(by: wait), pause: wait,
      reason: "the outcome of the last refresh is not known")
  }

  /// Numbers the generation that a sign-in or a logout is about to make. Numbers are never given
  /// twice, so that whatever the store does last is also the latest.
  package mutating func reserveGeneration() -> Generation {
    reserved = reserved.next
    return reserved
  }

  /// A new session is in the store and becomes the present one.
  package mutating func signIn(
    _ facts: SessionFacts, hasAccess: Bool, hasRefresh: Bool, lifetime: Duration?, now: Instant
  ) {
    generation = facts.generation
    self.facts = facts
    isCopied = false
    phase = .signedIn
    flight = nil
    backoff = RefreshBackoff()
    brake = RefreshBrake()
    unknownOutcomes = 0
    hasAccessToken = hasAccess
    hasRefreshToken = hasRefresh
    receive(lifetime: lifetime, now: now)
  }

  /// The session ends here, in memory and at once; the store follows.
  package mutating func signOut(to generation: Generation, reason: String) {
    self.generation = generation
    isCopied = false
    phase = .signedOut(reason: reason)
    facts = nil
    flight = nil
    backoff = RefreshBackoff()
    brake = RefreshBrake()
    unknownOutcomes = 0
    hasAccessToken = false
    hasRefreshToken = false
    accessExpires = nil
  }

  package mutating func resume(_ facts: SessionFacts) {
    self.facts = facts
    isCopied = false
    phase = .signedIn
  }

  /// The refresh's pair is in the store: it becomes the present one, and the slot is free.
  package mutating func land(
    _ flight: RefreshFlight, facts: SessionFacts, hasRefresh: Bool, lifetime: Duration?,
    now: Instant
  ) {
    guard isCurrent(flight) else { return }
    self.facts = facts
    self.flight = nil
    backoff = RefreshBackoff()
    unknownOutcomes = 0
    hasAccessToken = true
    hasRefreshToken = hasRefresh
    receive(lifetime: lifetime, now: now)
  }

  private mutating func receive(lifetime: Duration?, now: Instant) {
    accessSerial += 1
    accessReceived = now
    accessExpires = lifetime.map { now.advanced(by: $0) }
  }

  /// What a failed refresh means.
  package enum Verdict: Equatable, Sendable {
    /// It belongs to a generation or a flight that is gone.
    case late
    /// The next one waits so long, nil: until the configuration changes.
    case held(Duration?)
    case end(reason: String)
  }

  package mutating func fail(
    _ flight: RefreshFlight, _ failure: RefreshFailure, now: Instant, jitter: Double
  ) -> Verdict {
    guard isCurrent(flight) else { return .late }
    self.flight = nil
    if failure.kind == .outcomeUnknown { unknownOutcomes += 1 }
    let pause = backoff.add(failure, now: now, policy: policy, jitter: jitter)
    let isOver =
      failure.kind == .refused
      || backoff.unclearRefusals >= policy.unclearRefusalsToEnd
    guard isOver else { return .held(pause) }
    // The refusal may be the echo of a rotation whose answer never came.
    return .end(
      reason: unknownOutcomes > 0
        ? "the outcome of the last refresh was not known, and then: \(failure.reason)"
        : failure.reason)
  }

  /// When the token should be refreshed unasked; nil where its end is not known.
  package func renewalTime(jitter: Double) -> Instant? {
    guard let accessExpires, phase == .signedIn else { return nil }
    guard hasRefreshToken || policy.refreshesWithoutToken else { return nil }
    let lifetime = accessReceived.duration(to: accessExpires)
    let margin = min(policy.margin, lifetime / 2)
    let early = accessReceived.advanced(by: lifetime - margin - margin * (jitter * policy.jitter))
    // Not sooner than the floor after the last one, and not while refreshes are held back.
    let floor = accessReceived.advanced(by: min(policy.proactiveFloor, max(lifetime, .seconds(1))))
    let soonest = accessSerial > 1 ? max(early, floor) : early
    return max(soonest, backoff.notBefore ?? soonest)
  }
}
