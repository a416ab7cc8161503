import Execution
import Session
import Simulation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RefreshTests {
  // MARK: I1

  @Test
  func `many callers with a rejected token share one refresh`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    let rejected = try bench.version
    let callers = (0..<20).map { _ in bench.replacing(rejected) }
    bench.ground.run()
    #expect(callers.allSatisfy { !$0.isAnswered })
    gate.open()
    bench.ground.run()
    for caller in callers { #expect(try caller.value() == (try bench.version)) }
    #expect(bench.endpoint.sent == ["refresh-0"])
    #expect(bench.counters.refreshesStarted == 1)
    #expect(bench.counters.refreshWaitersJoined == 19)
  }

  @Test
  func `a late rejection of a replaced token starts no refresh`() throws {
    let bench = try Bench.started()
    let old = try bench.version
    let first = bench.replacing(old)
    bench.ground.run()
    let present = try first.value()
    let late = bench.replacing(old)
    bench.ground.run()
    #expect(try late.value() == present)
    #expect(bench.endpoint.sent.count == 1)
  }

  @Test
  func `a rejected token that is handed out again counts as new`() throws {
    let bench = try Bench.started()
    bench.endpoint.script(.grant(access: "access-0", refresh: nil, lifetime: nil))
    let old = try bench.version
    let first = bench.replacing(old)
    bench.ground.run()
    #expect(try first.value() != old)
    let late = bench.replacing(old)
    bench.ground.run()
    _ = try late.value()
    #expect(bench.endpoint.sent.count == 1)
  }

  @Test
  func `an explicit refresh joins the one in flight`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    let rejected = try bench.replacing(bench.version)
    bench.ground.run()
    let explicit = bench.refreshing()
    bench.ground.run()
    gate.open()
    bench.ground.run()
    _ = try (rejected.value(), explicit.value())
    #expect(bench.endpoint.sent.count == 1)
  }

  @Test
  func `the new session's exchange waits for the old one to close`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.endpoint.script(
      .grant(access: "late", refresh: "late", lifetime: nil), latch: latch)
    let old = bench.refreshing()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    let new = bench.refreshing()
    bench.ground.run()
    #expect(bench.endpoint.sent == ["refresh-0"])
    latch.open()
    bench.ground.run()
    _ = try new.value()
    #expect(bench.endpoint.sent == ["refresh-0", "refresh-b"])
    #expect(bench.endpoint.mostOpen == 1)
    #expect(old.error() != nil)
  }

  // MARK: I5

  @Test
  func `a refresh records its intent, exchanges, commits, and then tells`() throws {
    let bench = try Bench.started()
    let commit = bench.store.hold(.before, .commit)
    let caller = bench.refreshing()
    bench.ground.run()
    #expect(commit.isReached)
    #expect(!caller.isAnswered)
    #expect(bench.store.disk.intent?.token.text == "fp:refresh-0")
    commit.open()
    bench.ground.run()
    _ = try caller.value()
    #expect(
      bench.journal.all == [
        "refreshStarted", "intent", "exchange refresh-0", "commit", "refreshSucceeded",
      ])
    #expect(bench.store.disk.row?.refresh == "refresh-1")
    #expect(bench.store.disk.intent == nil)
  }

  @Test
  func `nothing is sent where the intent cannot be stored`() throws {
    let bench = try Bench.started()
    bench.store.fail(.intent, .full)
    let caller = bench.refreshing()
    bench.ground.run()
    #expect(caller.error() == .storeFailed(reason: StoreError.full.reason))
    #expect(bench.endpoint.sent == [])
  }

  @Test
  func `a pair that cannot be stored is used, said to be so, and stored later`() throws {
    let bench = try Bench.started()
    bench.store.fail(.commit, .full)
    let caller = bench.refreshing()
    bench.ground.run()
    #expect(try caller.value().durable == false)
    #expect(bench.store.disk.intent?.token.text == "fp:refresh-0")
    bench.ground.advance(by: .seconds(2))
    #expect(bench.snapshot.durable)
    #expect(bench.store.disk.row?.refresh == "refresh-1")
  }

  @Test
  func `a late rewrite never puts an older pair over a newer one`() throws {
    let bench = try Bench.started()
    bench.store.fail(.commit, .full)
    let first = bench.refreshing()
    bench.ground.run()
    _ = try first.value()
    // The next refresh's pair is on its way to the disk when the rewrite of the first falls due.
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-2", refresh: "refresh-2", lifetime: nil), gate: gate)
    let second = bench.refreshing()
    bench.ground.run()
    let commit = bench.store.hold(.after, .commit)
    gate.open()
    bench.ground.run()
    if commit.isReached { bench.ground.advance(by: .seconds(2)) }
    commit.open()
    bench.ground.advance(by: .seconds(60))
    _ = try second.value()
    #expect(bench.store.disk.row?.refresh == "refresh-2")
    #expect(bench.snapshot.refreshToken == bench.store.disk.persistedRefresh)
  }

  @Test
  func `a refresh stores what is only in memory before it sends that`() throws {
    let bench = try Bench.started()
    bench.store.fail(.commit, .full, .full)
    let first = bench.refreshing()
    bench.ground.run()
    _ = try first.value()
    let second = bench.refreshing()
    bench.ground.run()
    #expect(second.error() == .storeFailed(reason: StoreError.full.reason))
    #expect(bench.endpoint.sent == ["refresh-0"])
  }

  // MARK: I8

  @Test
  func `a failed refresh fails all alike and frees its slot`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.endpoint.script(
      .failure(RefreshFailure(.transient, reason: "away", httpStatus: 502)), gate: gate)
    let callers = try (0..<5).map { _ in try bench.replacing(bench.version) }
    bench.ground.run()
    gate.open()
    bench.ground.run()
    for caller in callers {
      #expect(
        caller.error()
          == .refreshFailed(reason: "away", httpStatus: 502, retryAfter: .seconds(1)))
    }
    #expect(bench.snapshot.activity == .backingOff)
    bench.ground.advance(by: .seconds(1))
    let next = bench.refreshing()
    bench.ground.run()
    _ = try next.value()
    #expect(bench.endpoint.sent.count == 2)
  }

  @Test
  func `the pause doubles, holds whoever asks, and gives way to a longer Retry-After`() throws {
    let bench = try Bench.started()
    for (failure, pause) in [
      (RefreshFailure(.transient, reason: "a"), 1),
      (RefreshFailure(.outcomeUnknown, reason: "b"), 2),
      (RefreshFailure(.transient, reason: "c"), 4),
      (RefreshFailure(.transient, reason: "d", httpStatus: 429, retryAfter: .seconds(100)), 100),
    ] {
      bench.endpoint.script(.failure(failure))
      let caller = bench.refreshing()
      bench.ground.run()
      #expect(
        caller.error()
          == .refreshFailed(
            reason: failure.reason, httpStatus: failure.httpStatus, retryAfter: .seconds(pause)))
      let sent = bench.endpoint.sent.count
      bench.ground.advance(by: .seconds(pause) - .milliseconds(1))
      let early = try bench.replacing(bench.version)
      bench.ground.run()
      #expect(early.error() != nil)
      #expect(bench.endpoint.sent.count == sent)
      bench.ground.advance(by: .milliseconds(1))
    }
  }

  @Test
  func `the backoff holds over a restart`() throws {
    let bench = try Bench.started()
    bench.endpoint.script(.failure(RefreshFailure(.transient, reason: "away")))
    bench.endpoint.script(
      .failure(RefreshFailure(.transient, reason: "away", retryAfter: .seconds(60))))
    _ = bench.refreshing()
    bench.ground.advance(by: .seconds(1))
    _ = bench.refreshing()
    bench.ground.run()
    let again = try Bench(ground: bench.ground, store: bench.store)
    try again.start()
    let early = again.refreshing()
    again.ground.run()
    #expect(
      early.error() == .refreshFailed(reason: "away", httpStatus: nil, retryAfter: .seconds(60)))
    #expect(again.endpoint.sent == [])
    again.endpoint.script(.failure(RefreshFailure(.transient, reason: "away")))
    again.ground.advance(by: .seconds(60))
    let third = again.refreshing()
    again.ground.run()
    #expect(
      third.error() == .refreshFailed(reason: "away", httpStatus: nil, retryAfter: .seconds(4)))
  }

  @Test(arguments: [false, true])
  func `a crash between sending and storing holds the next try back`(failedBefore: Bool) throws {
    let bench = try Bench.started()
    if failedBefore {
      bench.endpoint.script(.failure(RefreshFailure(.transient, reason: "away")))
      _ = bench.refreshing()
      bench.ground.advance(by: .seconds(1))
    }
    let gate = Gate()
    bench.endpoint.script(
      .grant(access: "access-1", refresh: "refresh-1", lifetime: nil), gate: gate)
    _ = bench.refreshing()
    bench.ground.run()
    // What is on disk now is what a restart finds.
    let again = try Bench(ground: bench.ground)
    again.store.prepare { $0 = bench.store.disk }
    try again.start()
    let early = again.refreshing()
    again.ground.run()
    #expect(early.error() != nil)
    #expect(again.endpoint.sent == [])
    again.endpoint.script(.failure(RefreshFailure(.refused, reason: "invalid_grant")))
    again.ground.advance(by: .seconds(4))
    let next = again.refreshing()
    again.ground.run()
    guard case .signedOut(_, let reason) = next.error() else {
      Issue.record("the session lives on")
      return
    }
    #expect(reason.contains("was not known"))
    gate.open()
    bench.ground.run()
  }

  @Test
  func `a fault of the configuration is not tried again, and leaves no doubt behind`() throws {
    let bench = try Bench.started()
    bench.endpoint.script(.failure(RefreshFailure(.misconfigured, reason: "invalid_client")))
    let caller = bench.refreshing()
    bench.ground.run()
    #expect(
      caller.error() == .refreshFailed(reason: "invalid_client", httpStatus: nil, retryAfter: nil))
    bench.ground.advance(by: .seconds(86_400))
    #expect(bench.endpoint.sent.count == 1)
    #expect(bench.store.disk.intent == nil)
    let again = try Bench(ground: bench.ground, store: bench.store)
    try again.start()
    let next = again.refreshing()
    again.ground.run()
    _ = try next.value()
  }

  @Test
  func `the renewal comes before the expiry, unasked`() throws {
    let bench = try Bench.started(lifetime: .seconds(600))
    bench.ground.advance(by: .seconds(539))
    #expect(bench.endpoint.sent == [])
    bench.ground.advance(by: .seconds(1))
    #expect(bench.endpoint.sent == ["refresh-0"])
  }

  @Test
  func `a valid token serves while and after its renewal fails`() throws {
    let bench = try Bench.started(lifetime: .seconds(600))
    let gate = Gate()
    bench.endpoint.script(.failure(RefreshFailure(.transient, reason: "away")), gate: gate)
    bench.ground.advance(by: .seconds(550))
    let during = bench.getting()
    bench.ground.run()
    #expect(try during.value().contains("for-access-0"))
    gate.open()
    bench.ground.run()
    let after = bench.getting()
    bench.ground.run()
    _ = try after.value()
  }
}

extension MemoryDisk {
  var persistedRefresh: Fingerprint? { persisted().refreshToken }
}
