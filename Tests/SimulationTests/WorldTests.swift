import Simulation
import Testing

/// A short look at every world; `make races` explores them.
@Suite(.timeLimit(.minutes(1)))
struct WorldTests {
  @Test(arguments: Worlds.all)
  func `no schedule of a world breaks an invariant`(world: World) {
    var explorer = Explorer(world)
    explorer.advance(8, random: world.isOnSQLite ? 3 : 8)
    let finding = explorer.report.finding
    #expect(
      finding == nil,
      "\(finding.map { ($0.violations + $0.story).joined(separator: "\n") } ?? "")")
  }

  @Test func `every world has a name of its own`() {
    #expect(Set(Worlds.all.map(\.name)).count == Worlds.all.count)
  }
}
