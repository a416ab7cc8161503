import Execution
import Platform
import Requests
import Session
import Simulation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LogoutTests {
  /// Where a refresh stands when the session ends under it.
  enum Point: CaseIterable, Sendable {
    case beforeIntent, afterIntent, duringExchange, duringDeafExchange, beforeCommit, afterCommit
  }

  /// What ends the session.
  enum Ending: CaseIterable, Sendable {
    case logout, otherAccount
  }

  @Test func `an end is told before the sign-in that overtakes its publication`() throws {
    let bench = try Bench.started()
    let latch = bench.store.hold(.after, .destroy)
    let logout = bench.loggingOut()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    latch.open()
    bench.ground.run()
    #expect(try logout.value().hadSession)
    let moves = bench.journal.all.filter { ["imported", "signedOut"].contains($0) }
    #expect(moves == ["signedOut", "imported"])
  }

  @Test func `what a logout hands to the outbox late is not left there unheard of`() throws {
    let bench = try Bench.started()
    let calls = Locked(0)
    bench.look { $0.observeRevocations { calls.withLock { $0 += 1 } } }
    bench.store.say(StoreHealth(unfinishedLogout: "the disk is full"))
    let logout = bench.loggingOut()
    bench.ground.run()
    #expect(try logout.value().hadSession)
    #expect(calls.withLock { $0 } == 0)
    // Asked again a second later, the store has done it.
    bench.ground.advance(by: .seconds(1))
    #expect(calls.withLock { $0 } == 1)
    bench.ground.advance(by: .seconds(60))
    #expect(calls.withLock { $0 } == 1)
  }

  @Test(arguments: Point.allCases, Ending.allCases)
  func `no answer on its way brings a session back`(point: Point, ending: Ending) throws {
    let bench = try Bench.started()
    let gate = Gate()
    var latches: [Latch] = []
    let late = ScriptedEndpoint.Answer.grant(access: "late-a", refresh: "late-r", lifetime: nil)
    switch point {
    case .beforeIntent: latches = [bench.store.hold(.before, .intent)]
    case .afterIntent: latches = [bench.store.hold(.after, .intent)]
    case .duringExchange: bench.endpoint.script(late, gate: gate)
    case .duringDeafExchange:
      let latch = Latch()
      latches = [latch]
      bench.endpoint.script(late, latch: latch)
    case .beforeCommit: latches = [bench.store.hold(.before, .commit)]
    case .afterCommit: latches = [bench.store.hold(.after, .commit)]
    }
    let rejected = try bench.version
    let waiters: [any Answered] = [bench.refreshing(), bench.replacing(rejected)]
    bench.ground.run()
    let sent = bench.endpoint.sent
    switch ending {
    case .logout:
      let logout = bench.loggingOut()
      bench.ground.run()
      #expect(try logout.value().hadSession)
    case .otherAccount: try bench.signIn("access-b", "refresh-b")
    }
    for waiter in waiters { #expect(waiter.isSignedOut) }
    gate.open()
    for latch in latches { latch.open() }
    bench.ground.advance(by: .seconds(60))
    // Nothing was sent that had not been sent before the end.
    #expect(bench.endpoint.sent == sent)
    let stored = bench.store.disk.row
    switch ending {
    case .logout:
      #expect(stored == nil)
      #expect(bench.snapshot.accessToken == nil)
    case .otherAccount:
      #expect(stored?.access == "access-b" && stored?.refresh == "refresh-b")
      #expect(bench.snapshot.accessToken?.text == "fp:access-b")
    }
    #expect(bench.counters.refreshesSucceeded == 0)
  }

  @Test(arguments: [RefreshFailure.Kind.refused, .transient, .misconfigured])
  func `a late failure touches nothing of the next session`(kind: RefreshFailure.Kind) throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.endpoint.script(.failure(RefreshFailure(kind, reason: "late")), latch: latch)
    let old = bench.refreshing()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    latch.open()
    bench.ground.run()
    #expect(old.isSignedOut)
    #expect(bench.snapshot.phase == .signedIn)
    #expect(bench.snapshot.activity == .idle)
    #expect(bench.store.disk.backoff == nil)
    #expect(bench.counters.lateResultsRejected == 1)
    let next = bench.refreshing()
    bench.ground.run()
    _ = try next.value()
  }

  @Test
  func `nothing of an ended session goes upstream`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.transport.script(status: 401, gate: nil)
    bench.transport.script(nil, latch: latch)
    let first = bench.getting("/tips/1")
    let second = bench.getting("/tips/2")
    bench.ground.run()
    let logout = bench.loggingOut()
    bench.ground.run()
    latch.open()
    bench.ground.advance(by: .seconds(60))
    _ = try logout.value()
    let before = bench.transport.sent.count
    let after = bench.getting("/tips/3")
    bench.ground.run()
    #expect(bench.transport.sent.count == before)
    #expect(second.isSignedOut && after.isSignedOut)
    #expect(first.isAnswered)
  }

  @Test
  func `callers are answered when the store has followed, new ones at once`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "late", refresh: nil, lifetime: nil), gate: gate)
    let waiter = bench.refreshing()
    bench.ground.run()
    let destroy = bench.store.hold(.before, .destroy)
    let logout = bench.loggingOut()
    bench.ground.run()
    let new = bench.refreshing()
    bench.ground.run()
    #expect(new.isSignedOut)
    #expect(!waiter.isAnswered && !logout.isAnswered)
    #expect(!bench.snapshot.durable)
    destroy.open()
    bench.ground.run()
    #expect(waiter.isSignedOut)
    #expect(try logout.value().hadSession)
    gate.open()
    bench.ground.run()
  }

  @Test
  func `a logout waits five seconds for the store, and is finished later`() throws {
    let bench = try Bench.started()
    let destroy = bench.store.hold(.before, .destroy)
    let logout = bench.loggingOut()
    bench.ground.advance(by: .milliseconds(4999))
    #expect(!logout.isAnswered)
    bench.ground.advance(by: .milliseconds(1))
    guard case .notDurable = logout.error(LogoutError.self) else {
      Issue.record("the logout was not answered")
      return
    }
    destroy.open()
    bench.ground.advance(by: .seconds(2))
    #expect(bench.store.disk.row == nil)
    #expect(bench.snapshot.durable)
  }

  @Test
  func `a store that refuses a destruction is asked again until it obeys`() throws {
    let bench = try Bench.started()
    bench.store.fail(.destroy, .readOnly, .readOnly, .readOnly, .readOnly)
    let first = bench.loggingOut()
    bench.ground.run()
    let second = bench.loggingOut()
    bench.ground.run()
    for logout in [first, second] {
      guard case .notDurable = logout.error(LogoutError.self) else {
        Issue.record("a logout that is not on disk was called done")
        return
      }
    }
    bench.ground.advance(by: .seconds(8))
    #expect(bench.store.disk.row == nil)
    // One chain of retries, after 1 and 2 s, and the one that succeeds after 4.
    #expect(bench.journal.count("destroy") == 1)
  }

  @Test
  func `of two imports at once the store's is the session`() throws {
    let bench = try Bench.started(signedIn: false)
    let hold = bench.store.hold(.after, .install)
    let first = bench.importing("access-a", "refresh-a")
    bench.ground.run()
    let second = bench.importing("access-b", "refresh-b")
    let exact = bench.importing("access-c", "refresh-c", ifGeneration: bench.snapshot.generation)
    bench.ground.run()
    hold.open()
    bench.ground.run()
    #expect(first.error() == .generationMoved(bench.snapshot.generation))
    #expect(try second.value().generation == bench.snapshot.generation)
    #expect(exact.error() != nil)
    #expect(bench.store.disk.row?.access == "access-b")
    #expect(bench.snapshot.accessToken?.text == "fp:access-b")
    #expect(bench.store.disk.generation == bench.snapshot.generation)
  }

  @Test
  func `a logout during an import ends it`() throws {
    let bench = try Bench.started()
    let hold = bench.store.hold(.after, .install)
    let importing = bench.importing("access-b", "refresh-b")
    bench.ground.run()
    let logout = bench.loggingOut()
    bench.ground.run()
    hold.open()
    bench.ground.run()
    _ = try logout.value()
    #expect(importing.error() == .generationMoved(bench.snapshot.generation))
    #expect(bench.store.disk.row == nil)
    #expect(bench.snapshot.accessToken == nil)
  }

  @Test
  func `a sign-in that a logout overtakes is void, wherever it stands`() throws {
    for step in [ScriptedStore.Step.spent, .install] {
      for moment in [ScriptedStore.Moment.before, .after] {
        let bench = try Bench.started()
        let generation = bench.snapshot.generation
        let hold = bench.store.hold(moment, step)
        let signIn = bench.call { [coordinator = bench.coordinator] in
          guard let access = Dummy.secret("access-b") else { throw CancellationError() }
          return try await coordinator.signIn(
            GrantedTokens(access: access, refresh: Dummy.secret("refresh-b"), lifetime: nil),
            since: generation, actorUID: nil)
        }
        bench.ground.run()
        #expect(hold.isReached)
        let logout = bench.loggingOut()
        bench.ground.run()
        hold.open()
        bench.ground.run()
        _ = try logout.value()
        #expect(signIn.error() == .generationMoved(bench.snapshot.generation))
        #expect(bench.store.disk.row == nil)
        #expect(bench.snapshot.facts == nil)
      }
    }
  }

  @Test
  func `a stop waits for the exchange, stores it, and finishes a logout`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    let refresh = bench.refreshing()
    bench.ground.run()
    let stop = bench.call { [coordinator = bench.coordinator] in await coordinator.stop() }
    bench.ground.run()
    let new = bench.refreshing()
    bench.ground.run()
    #expect(new.error() == .stopping)
    #expect(!stop.isAnswered)
    gate.open()
    bench.ground.run()
    #expect(try stop.value())
    _ = try refresh.value()
    #expect(bench.store.disk.row?.refresh == "refresh-1")
  }

  @Test
  func `a stop during a logout ends it first`() throws {
    let bench = try Bench.started()
    let hold = bench.store.hold(.after, .destroy)
    let logout = bench.loggingOut()
    bench.ground.run()
    let stop = bench.call { [coordinator = bench.coordinator] in await coordinator.stop() }
    bench.ground.run()
    hold.open()
    bench.ground.run()
    #expect(try stop.value())
    _ = try logout.value()
  }

  // MARK: I11

  @Test
  func `another upstream than the session's suspends it, until a person resumes`() throws {
    let first = try Bench.started()
    for binding in [
      UpstreamBinding(
        issuer: "https://evil.example.test", clientID: "dummy-client",
        apiOrigin: Bench.binding.apiOrigin),
      UpstreamBinding(
        issuer: Bench.binding.issuer, clientID: "other", apiOrigin: Bench.binding.apiOrigin),
      UpstreamBinding(
        issuer: Bench.binding.issuer, clientID: "dummy-client",
        apiOrigin: "https://evil.example.test"),
    ] {
      let bench = try Bench(binding: binding, ground: first.ground)
      bench.store.prepare { $0 = first.store.disk }
      try bench.start()
      let refresh = bench.refreshing()
      let get = bench.getting()
      bench.ground.advance(by: .seconds(86_400))
      guard case .suspended = refresh.error() else {
        Issue.record("not suspended")
        return
      }
      #expect(get.error(RequestError.self) != nil)
      #expect(bench.endpoint.sent == [] && bench.transport.sent == [])
      let resume = bench.call { [coordinator = bench.coordinator] in
        try await coordinator.resume()
      }
      bench.ground.run()
      #expect(try resume.value().phase == .signedIn)
      #expect(bench.store.disk.row?.facts.binding == binding)
      let after = bench.getting()
      bench.ground.run()
      _ = try after.value()
    }
  }

  // MARK: A copied store

  @Test
  func `a session that came from another machine sends nothing until a person resumes it`()
    throws
  {
    let first = try Bench.started()
    let bench = try Bench(ground: first.ground)
    bench.store.prepare { $0 = first.store.disk }
    bench.store.becomeCopy()
    try bench.start()
    let refresh = bench.refreshing()
    bench.ground.advance(by: .seconds(86_400))
    guard case .suspended = refresh.error() else {
      Issue.record("not suspended")
      return
    }
    #expect(bench.endpoint.sent == [] && bench.transport.sent == [])
    let resume = bench.call { [coordinator = bench.coordinator] in
      try await coordinator.resume()
    }
    bench.ground.run()
    #expect(try resume.value().phase == .signedIn)
    // It belongs here now: the next start does not ask again.
    let next = try Bench(ground: first.ground, store: bench.store)
    try next.start()
    #expect(next.snapshot.phase == .signedIn)
  }

  /// `OnMove=continue`.
  @Test
  func `where ids change by design a session that moved goes on`() throws {
    let first = try Bench.started()
    var policy = SessionPolicy()
    policy.continuesOnMove = true
    let bench = try Bench(policy: policy, ground: first.ground)
    bench.store.prepare { $0 = first.store.disk }
    bench.store.becomeCopy()
    try bench.start()
    #expect(bench.snapshot.phase == .signedIn)
    let refresh = bench.refreshing()
    bench.ground.run()
    #expect(try refresh.value().facts?.rotations == 1)
  }
}
