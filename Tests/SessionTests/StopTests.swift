import Execution
import Session
import Simulation
import TestSupport
import Testing

/// What a stop lets begin, and what it leaves.
@Suite(.timeLimit(.minutes(1)))
struct StopTests {
  @Test func `from its beginning on every call is answered so`() throws {
    let bench = try Bench.started()
    let (version, generation) = (try bench.version, bench.snapshot.generation)
    bench.look { $0.refuseCalls() }
    let deadline = bench.ground.now.advanced(by: .seconds(20))
    let calls: [Pending<Void>] = [
      bench.call { [it = bench.coordinator] in _ = try await it.refresh(by: deadline) },
      bench.call { [it = bench.coordinator] in try await it.replace(version, by: deadline) },
      bench.call { [it = bench.coordinator] in
        _ = try await it.credential(for: generation, mayRefresh: false, by: deadline)
      },
      bench.call { [it = bench.coordinator] in _ = try await it.resume() },
      bench.call { [it = bench.coordinator] in
        _ = try await it.importCredentials(
          ImportedCredentials(
            access: Dummy.secret("access-b"), refresh: nil, lifetime: nil, account: nil,
            scope: nil))
      },
      bench.call { [it = bench.coordinator] in
        guard let access = Dummy.secret("access-b") else { return }
        _ = try await it.signIn(
          GrantedTokens(access: access, refresh: nil, lifetime: nil), since: generation,
          actorUID: nil)
      },
    ]
    bench.ground.run()
    for call in calls { #expect(call.error() == .stopping) }
  }

  @Test func `what ends after that sets no timer`() throws {
    // A refresh whose pair the disk does not take: to be renewed, to be written, a store to be asked.
    for faults in [[], [StoreError.full]] {
      let bench = try Bench.started()
      let gate = Gate()
      bench.endpoint.script(
        .grant(access: "access-1", refresh: "refresh-1", lifetime: .seconds(100)), gate: gate)
      let refresh = bench.refreshing()
      bench.ground.run()
      bench.look { $0.refuseCalls() }
      for fault in faults { bench.store.fail(.commit, fault) }
      gate.open()
      bench.ground.run()
      _ = try refresh.value()
      #expect(bench.ground.timerCount == 0)
    }
  }

  @Test func `a logout that fails after that sets none either`() throws {
    let bench = try Bench.started()
    let hold = bench.store.hold(.before, .destroy)
    bench.store.fail(.destroy, .full)
    let logout = bench.loggingOut()
    bench.ground.run()
    bench.look { $0.refuseCalls() }
    hold.open()
    bench.ground.run()
    guard case .notDurable = logout.error(LogoutError.self) else {
      Issue.record("said to be durable")
      return
    }
    #expect(bench.ground.timerCount == 0)
  }

  @Test func `a pair that is only in memory is written by it`() throws {
    let bench = try Bench.started()
    bench.store.fail(.commit, .full)
    let refresh = bench.refreshing()
    bench.ground.run()
    _ = try refresh.value()
    #expect(!bench.snapshot.durable)
    let stop = bench.call { [coordinator = bench.coordinator] in await coordinator.stop() }
    bench.ground.run()
    #expect(try stop.value())
    #expect(bench.store.disk.row?.refresh == "refresh-1")
  }
}
