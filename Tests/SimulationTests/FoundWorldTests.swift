import Simulation
import Testing

/// Small worlds that show what the exploration has found to matter.
@Suite(.timeLimit(.minutes(1)))
struct FoundWorldTests {
  @Test func `renewals are as many as fall due, whatever becomes of them`() {
    let world = World("renewals, again and again", []).with {
      $0.lifetime = .seconds(6)
      $0.exchanges = [.answered, .serverError, .busy, .unclear, .requestLost, .answerLost]
    }
    var explorer = Explorer(world)
    explorer.advance(20, random: 200)
    #expect(explorer.report.finding == nil)
    #expect(explorer.report.mostRefreshes > 12)
  }

  @Test(arguments: [World.Exchange.serverError, .busy, .misconfigured])
  func `an exchange is answered to no other process than the one that sent it`(
    outcome: World.Exchange
  ) {
    // The kill may come between the step that sends and the one that waits for the answer.
    let world = World("killed, and a refresh", [.init(.refresh)]).with {
      $0.exchanges = [outcome]
      $0.crashes = 1
      $0.afterCrash = [.init(.refresh, comesLate: true)]
    }
    var explorer = Explorer(world)
    explorer.advance(3_000, random: 0)
    #expect(explorer.report.finding == nil)
    #expect(explorer.report.isComplete)
  }
}
