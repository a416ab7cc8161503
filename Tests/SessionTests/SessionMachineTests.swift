import Execution
import Session
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SessionMachineTests {
  private let start = Instant(nanoseconds: 1_000_000_000_000)
  private let wall = WallTime(milliseconds: 1_800_000_000_000)

  private func machine(
    lifetime: Duration? = .seconds(3600), hasRefresh: Bool = true,
    _ adjust: (inout SessionPolicy) -> Void = { _ in }
  ) throws -> SessionMachine {
    var policy = SessionPolicy()
    policy.jitter = 0
    adjust(&policy)
    var machine = SessionMachine(policy: policy)
    machine.signIn(
      try facts(1), hasAccess: true, hasRefresh: hasRefresh, lifetime: lifetime, now: start)
    return machine
  }

  private func facts(_ number: UInt64) throws -> SessionFacts {
    SessionFacts(
      id: try #require(SessionID(bytes: Array(repeating: UInt8(number), count: 16))),
      generation: Generation(number), binding: Bench.binding, account: nil,
      accountVerified: false, signedInAt: wall, scope: nil, accessTokenReceivedAt: wall,
      accessTokenExpiresAt: nil)
  }

  private func flight(_ demand: SessionMachine.Demand) throws -> RefreshFlight {
    guard case .start(let flight) = demand else {
      Issue.record("no flight: \(demand)")
      throw CancellationError()
    }
    return flight
  }

  @Test
  func `there is one flight, and the next only after it`() throws {
    var machine = try machine()
    let first = try flight(machine.demand(.refresh, now: start))
    #expect(machine.demand(.refresh, now: start) == .join(first))
    #expect(machine.demand(.renewal, now: start) == .join(first))
    #expect(machine.demand(.replacement(of: machine.accessVersion), now: start) == .join(first))
    #expect(machine.demand(.token, now: start) == .use)
    let old = machine.accessVersion
    machine.land(
      first, facts: try facts(1), hasRefresh: true, lifetime: nil, now: start)
    #expect(machine.demand(.replacement(of: old), now: start) == .use)
    #expect(try flight(machine.demand(.refresh, now: start)).id != first.id)
  }

  @Test
  func `a flight of another generation changes nothing`() throws {
    var machine = try machine()
    let old = try flight(machine.demand(.refresh, now: start))
    machine.signIn(
      try facts(2), hasAccess: true, hasRefresh: true, lifetime: nil, now: start)
    let version = machine.accessVersion
    machine.land(old, facts: try facts(1), hasRefresh: false, lifetime: .zero, now: start)
    #expect(machine.accessVersion == version)
    #expect(machine.facts?.generation == Generation(2))
    let verdict = machine.fail(
      old, RefreshFailure(.refused, reason: "late"), now: start, jitter: 0)
    #expect(verdict == .late)
    #expect(machine.phase == .signedIn)
    #expect(machine.demand(.token, now: start) == .use)
  }

  @Test(arguments: zip(1...12, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]))
  func `the n-th failure in a row holds back twice as long, to five minutes`(
    failures: Int, seconds: Int
  ) {
    let policy = SessionPolicy()
    #expect(
      RefreshBackoff.pause(afterFailures: failures, policy: policy, jitter: 0)
        == .seconds(seconds))
    #expect(
      RefreshBackoff.pause(afterFailures: failures, policy: policy, jitter: 1)
        == .seconds(seconds) + .seconds(seconds) * 0.1)
  }

  @Test
  func `a refusal ends the session, an unclear one with the third in a row`() throws {
    var first = try machine()
    let refused = try flight(first.demand(.refresh, now: start))
    #expect(
      first.fail(refused, RefreshFailure(.refused, reason: "invalid_grant"), now: start, jitter: 0)
        == .end(reason: "invalid_grant"))
    var second = try machine()
    var now = start
    for round in 1...3 {
      let next = try flight(second.demand(.refresh, now: now))
      let verdict = second.fail(
        next, RefreshFailure(.refusedUnclearly, reason: "400"), now: now, jitter: 0)
      switch verdict {
      case .end: #expect(round == 3)
      default: #expect(round < 3)
      }
      now = now.advanced(by: .seconds(60))
    }
  }

  @Test
  func `five refreshes for young tokens are followed by a pause that doubles`() throws {
    var machine = try machine(lifetime: nil)
    var now = start
    for pause in [30, 60, 120, 240, 300, 300] {
      for _ in 0..<5 {
        let next = try flight(machine.demand(.replacement(of: machine.accessVersion), now: now))
        machine.land(next, facts: try facts(1), hasRefresh: true, lifetime: nil, now: now)
        now = now.advanced(by: .seconds(1))
      }
      let version = machine.accessVersion
      #expect(
        machine.demand(.replacement(of: version), now: now)
          == .refused(.braked(retryAfter: .seconds(pause))))
      let later = now.advanced(by: .seconds(10))
      #expect(
        machine.demand(.replacement(of: version), now: later)
          == .refused(.braked(retryAfter: .seconds(pause - 10))))
      // An explicit one is not held back by it.
      let explicit = try flight(machine.demand(.refresh, now: now))
      machine.land(explicit, facts: try facts(1), hasRefresh: true, lifetime: nil, now: now)
      now = now.advanced(by: .seconds(pause))
      // The token is as old as the pause, which says nothing about it.
      let after = try flight(machine.demand(.replacement(of: machine.accessVersion), now: now))
      machine.land(after, facts: try facts(1), hasRefresh: true, lifetime: nil, now: now)
    }
    // A token that served for longer than the window ends the suspicion.
    now = now.advanced(by: .seconds(31))
    for _ in 0..<6 {
      let next = try flight(machine.demand(.replacement(of: machine.accessVersion), now: now))
      machine.land(next, facts: try facts(1), hasRefresh: true, lifetime: nil, now: now)
    }
    #expect(
      machine.demand(.replacement(of: machine.accessVersion), now: now)
        == .refused(.braked(retryAfter: .seconds(30))))
  }

  @Test(arguments: [
    (3600, 3540), (600, 540), (120, 60), (100, 50), (61, 31), (10, 5), (1, 1),
  ])
  func `the renewal comes a margin before the end, at most half the lifetime`(
    lifetime: Int, due: Int
  ) throws {
    let machine = try machine(lifetime: .seconds(lifetime)) { $0.proactiveFloor = .zero }
    let time = try #require(machine.renewalTime(jitter: 0))
    #expect(start.duration(to: time).secondsRoundedUp == due)
  }

  @Test
  func `a short lifetime does not make the timer spin`() throws {
    var machine = try machine(lifetime: .seconds(2))
    let next = try flight(machine.demand(.refresh, now: start))
    machine.land(next, facts: try facts(1), hasRefresh: true, lifetime: .zero, now: start)
    let soonest = try #require(machine.renewalTime(jitter: 0))
    #expect(start.duration(to: soonest) >= .seconds(1))
    let again = try flight(machine.demand(.refresh, now: start))
    _ = machine.fail(again, RefreshFailure(.transient, reason: "away"), now: start, jitter: 0)
    let held = try #require(machine.renewalTime(jitter: 0))
    #expect(start.duration(to: held) >= .seconds(1))
  }

  @Test
  func `there is no renewal without an end or without a way`() throws {
    #expect(try machine(lifetime: nil).renewalTime(jitter: 0) == nil)
    #expect(try machine(hasRefresh: false).renewalTime(jitter: 0) == nil)
    #expect(
      try machine(hasRefresh: false) { $0.refreshesWithoutToken = true }
        .renewalTime(jitter: 0) != nil)
  }

  @Test
  func `a session with an access token alone ends with it`() throws {
    var rejected = try machine(hasRefresh: false)
    guard case .end = rejected.demand(.replacement(of: rejected.accessVersion), now: start) else {
      Issue.record("lives on after its token was rejected")
      return
    }
    var expired = try machine(lifetime: .seconds(1), hasRefresh: false)
    guard case .end = expired.demand(.token, now: start.advanced(by: .seconds(1))) else {
      Issue.record("lives on after its token expired")
      return
    }
  }

  @Test
  func `a pause of an earlier run holds for its whole length, and no longer`() throws {
    var machine = try machine()
    let day = Duration.seconds(86_400)
    machine.restore(
      backoff: BackoffRecord(
        failures: 1, notBefore: wall.advanced(by: day), pause: day, reason: "asked to wait"),
      intent: nil, now: start, wallTime: wall)
    guard case .refused = machine.demand(.refresh, now: start.advanced(by: day - .seconds(1)))
    else {
      Issue.record("not held back")
      return
    }
    // The clock was set back by a year meanwhile.
    var later = try self.machine()
    later.restore(
      backoff: BackoffRecord(
        failures: 1, notBefore: wall.advanced(by: day * 365), pause: .seconds(60), reason: "away"),
      intent: nil, now: start, wallTime: wall)
    _ = try flight(later.demand(.refresh, now: start.advanced(by: .seconds(60))))
  }

  @Test
  func `an early run's pause is not believed beyond an hour`() throws {
    var machine = try machine()
    machine.restore(
      backoff: BackoffRecord(
        failures: 3, notBefore: wall.advanced(by: .seconds(86_400)), reason: "away"),
      intent: nil, now: start, wallTime: wall)
    guard case .refused = machine.demand(.refresh, now: start.advanced(by: .seconds(3599))) else {
      Issue.record("not held back")
      return
    }
    _ = try flight(machine.demand(.refresh, now: start.advanced(by: .seconds(3600))))
  }

  /// A failure was recorded after the intent of its exchange; a later intent is another exchange's.
  @Test(arguments: [(-60, 2), (9, 2), (10, 3), (60, 3)])
  func `an intent counts as a failure only if that failure is not on record`(
    startedAfter seconds: Int, failures: Int
  ) throws {
    var machine = try machine()
    machine.restore(
      backoff: BackoffRecord(
        failures: 2, notBefore: wall.advanced(by: .seconds(10)), pause: .seconds(10),
        reason: "away"),
      intent: RefreshIntent(
        token: Fingerprint(text: "dummy"), startedAt: wall.advanced(by: .seconds(seconds)),
        tries: 1),
      now: start, wallTime: wall)
    #expect(machine.backoff.failures == failures)
  }

  @Test func `a refusal after a lost answer says that the outcome was not known`() throws {
    var machine = try machine()
    let lost = try flight(machine.demand(.refresh, now: start))
    _ = machine.fail(lost, RefreshFailure(.outcomeUnknown, reason: "lost"), now: start, jitter: 0)
    let later = start.advanced(by: .seconds(1))
    let refused = try flight(machine.demand(.refresh, now: later))
    #expect(
      machine.fail(
        refused, RefreshFailure(.refused, reason: "invalid_grant"), now: later, jitter: 0)
        == .end(reason: "the outcome of the last refresh was not known, and then: invalid_grant"))
  }

  @Test func `a copied store suspends the session that it has, and renews nothing`() throws {
    var machine = try machine()
    #expect(machine.renewalTime(jitter: 0) != nil)
    machine.suspendCopy()
    guard case .suspended = machine.phase else {
      Issue.record("not suspended")
      return
    }
    #expect(machine.renewalTime(jitter: 0) == nil)
    var empty = SessionMachine(policy: SessionPolicy())
    empty.suspendCopy()
    #expect(empty.phase == .signedOut(reason: "never signed in"))
  }
}
