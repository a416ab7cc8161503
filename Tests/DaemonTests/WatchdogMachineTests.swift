import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(1)))
struct WatchdogMachineTests {
  private typealias Sight = WatchdogMachine.Sight

  @Test func `all is well: fed`() {
    var machine = WatchdogMachine()
    for _ in 0..<3 { #expect(machine.look(Sight())) }
  }

  @Test func `a coordinator whose refresh does not end is not fed`() {
    var machine = WatchdogMachine()
    #expect(!machine.look(Sight(coordinatorAnswers: false)))
  }

  @Test func `a store thread that does not answer is not fed`() {
    var machine = WatchdogMachine()
    #expect(machine.look(Sight()))
    #expect(!machine.look(Sight(storeAnswers: false)))
  }

  @Test func `a store thread that waits for another process's lock makes progress`() {
    var machine = WatchdogMachine()
    #expect(machine.look(Sight(storeAnswers: false, storeWaits: 10)))
    #expect(machine.look(Sight(storeAnswers: false, storeWaits: 40)))
    #expect(!machine.look(Sight(storeAnswers: false, storeWaits: 40)))
  }

  @Test func `the process is not given up while a pair waits to be stored`() {
    var machine = WatchdogMachine()
    let sight = Sight(coordinatorAnswers: false, pairIsUnstored: true, storeAnswers: false)
    for _ in 0..<5 { #expect(machine.look(sight)) }
  }
}
