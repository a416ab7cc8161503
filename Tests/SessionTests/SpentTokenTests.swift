import Execution
import Session
import Simulation
import TestSupport
import Testing

/// I1 at sign-in: a refresh token that has been replaced is not taken for a new session's.
@Suite(.timeLimit(.minutes(1)))
struct SpentTokenTests {
  private let new = ScriptedEndpoint.Answer.grant(
    access: "access-1", refresh: "refresh-1", lifetime: nil)

  private func isSpent(_ signIn: Pending<SessionSnapshot>) -> Bool {
    if case .spentToken = signIn.error() { true } else { false }
  }

  @Test func `a token that was replaced does not sign in again`() throws {
    let bench = try Bench.started()
    let refresh = bench.refreshing()
    bench.ground.run()
    _ = try refresh.value()
    let signIn = bench.importing("access-0", "refresh-0")
    bench.ground.run()
    #expect(isSpent(signIn))
    #expect(bench.store.disk.row?.refresh == "refresh-1")
  }

  @Test func `a token on its way to the upstream signs in only if it was not replaced`() throws {
    let failure = ScriptedEndpoint.Answer.failure(RefreshFailure(.transient, reason: "away"))
    for (answer, isReplaced) in [(new, true), (failure, false)] {
      let bench = try Bench.started()
      let latch = Latch()
      bench.endpoint.script(answer, latch: latch)
      _ = bench.refreshing()
      bench.ground.run()
      let signIn = bench.importing("access-0", "refresh-0")
      let other = bench.importing("access-b", "refresh-0", ifGeneration: Generation(7))
      bench.ground.run()
      #expect(latch.isReached && !signIn.isAnswered)
      #expect(other.error() == .generationMoved(bench.snapshot.generation))
      latch.open()
      bench.ground.run()
      #expect(isSpent(signIn) == isReplaced)
      #expect(signIn.isAnswered)
      #expect(bench.store.disk.row?.refresh == (isReplaced ? "refresh-1" : "refresh-0"))
      // Nothing was sent twice, but what the upstream has not replaced.
      let again = bench.refreshing()
      bench.ground.run()
      _ = try again.value()
      #expect(bench.endpoint.sent == ["refresh-0", isReplaced ? "refresh-1" : "refresh-0"])
    }
  }

  @Test func `a refresh that begins while the store is asked counts, too`() throws {
    let bench = try Bench.started()
    let asked = bench.store.hold(.after, .spent)
    let signIn = bench.importing("access-0", "refresh-0")
    bench.ground.run()
    #expect(asked.isReached)
    let latch = Latch()
    bench.endpoint.script(new, latch: latch)
    let refresh = bench.refreshing()
    bench.ground.run()
    asked.open()
    bench.ground.run()
    #expect(!signIn.isAnswered)
    latch.open()
    bench.ground.run()
    #expect(isSpent(signIn))
    _ = try refresh.value()
  }

  @Test func `another token's sign-in does not wait for the exchange`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.endpoint.script(new, latch: latch)
    let refresh = bench.refreshing()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    #expect(refresh.isSignedOut)
    latch.open()
    bench.ground.run()
    #expect(bench.store.disk.row?.refresh == "refresh-b")
  }

  /// I7
  @Test func `a sign-in that waits is answered at the refresh's deadline, or leaves`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.endpoint.script(new, latch: latch)
    _ = bench.refreshing()
    bench.ground.run()
    let patient = bench.importing("access-0", "refresh-0")
    let hasty = bench.importing("access-0", "refresh-0")
    bench.ground.run()
    hasty.cancel()
    bench.ground.run()
    #expect(hasty.error() == .cancelled)
    bench.ground.advance(by: .seconds(20))
    #expect(patient.error() == .timedOut)
    latch.open()
    bench.ground.run()
    #expect(bench.snapshot.refreshToken == Dummy.fingerprint(of: "refresh-1"))
  }
}
