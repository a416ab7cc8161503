import Execution
import Session
import Simulation
import TestSupport
import Testing
import Tips

/// A logout that the store does not follow at once.
@Suite(.timeLimit(.minutes(1)))
struct LateLogoutTests {
  @Test func `one that outlasts its patience leaves a tombstone, which a restart obeys`() throws {
    let bench = try Bench.started()
    let hold = bench.store.hold(.before, .destroy)
    let logout = bench.loggingOut()
    bench.ground.run()
    #expect(hold.isReached)
    bench.ground.advance(by: .seconds(5))
    guard case .notDurable = logout.error(LogoutError.self) else {
      Issue.record("said to be durable")
      return
    }
    var disk = bench.store.disk
    #expect(disk.row != nil)
    disk.recover()
    #expect(disk.row == nil)
    hold.open()
    bench.ground.run()
  }

  @Test func `one that fails says why, is tried again, and by one timer`() throws {
    let bench = try Bench.started()
    bench.store.fail(.destroy, .full, .full)
    let logouts = [bench.loggingOut(), bench.loggingOut()]
    bench.ground.run()
    for logout in logouts {
      guard case .notDurable = logout.error(LogoutError.self) else {
        Issue.record("said to be durable")
        return
      }
    }
    #expect(bench.look { $0.undestroyed } == StoreError.full.reason)
    #expect(bench.ground.timerCount == 1)
    bench.ground.advance(by: .seconds(1))
    #expect(bench.look { $0.undestroyed } == nil)
    #expect(bench.store.disk.row == nil)
    #expect(bench.ground.timerCount == 0)
  }

  @Test func `its end is told when it is published, not with an earlier one's`() throws {
    let bench = try Bench.started()
    let first = bench.store.hold(.before, .destroy)
    let old = bench.loggingOut()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    let second = bench.store.hold(.before, .destroy)
    let new = bench.loggingOut()
    bench.ground.run()
    #expect(first.isReached && second.isReached)
    first.open()
    bench.ground.run()
    _ = try old.value()
    #expect(bench.journal.count("signedOut") == 1)
    second.open()
    bench.ground.run()
    _ = try new.value()
    #expect(bench.journal.count("signedOut") == 2)
  }

  @Test func `one that ends late leaves the next session's followers alone`() throws {
    let bench = try Bench.started()
    let hold = bench.store.hold(.after, .destroy)
    let logout = bench.loggingOut()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    let following = bench.call { [tips = bench.tips] in
      await tips.follow(TipDemand(wait: .seconds(30))) { _ in true }
    }
    bench.ground.run()
    hold.open()
    bench.ground.run()
    _ = try logout.value()
    #expect(!following.isAnswered)
    let next = bench.loggingOut()
    bench.ground.run()
    _ = try next.value()
    guard case .ended = try following.value() else {
      Issue.record("follows on")
      return
    }
  }

  @Test func `without revocation it says that it asked for none`() throws {
    let bench = try Bench.started()
    let logout = bench.call { [coordinator = bench.coordinator] in
      try await coordinator.logout(revoke: false)
    }
    bench.ground.run()
    #expect(try logout.value().revocation == .skipped)
    let asking = try Bench.started()
    let asked = asking.loggingOut()
    asking.ground.run()
    #expect(try asked.value().revocation == .unsupported)
  }

  @Test func `one during a resume wins`() throws {
    let bench = try Bench(
      binding: UpstreamBinding(
        issuer: "https://other.example.test", clientID: "dummy-client",
        apiOrigin: "https://api.example.test"))
    let now = bench.ground.wallTime
    let facts = SessionFacts(
      id: try #require(SessionID(bytes: Array(repeating: 1, count: 16))),
      generation: Generation(1), binding: Bench.binding, account: nil, accountVerified: false,
      signedInAt: now, scope: nil, accessTokenReceivedAt: now, accessTokenExpiresAt: nil)
    try bench.store.prepare {
      try $0.install(MemoryDisk.Row(facts: facts, access: "access-0", refresh: "refresh-0"))
    }
    try bench.start()
    let hold = bench.store.hold(.after, .commit)
    let resume = bench.call { [coordinator = bench.coordinator] in
      try await coordinator.resume()
    }
    bench.ground.run()
    #expect(hold.isReached)
    let logout = bench.loggingOut()
    bench.ground.run()
    _ = try logout.value()
    hold.open()
    bench.ground.run()
    #expect(resume.error() == .generationMoved(bench.snapshot.generation))
    #expect(bench.snapshot.facts == nil)
  }
}
