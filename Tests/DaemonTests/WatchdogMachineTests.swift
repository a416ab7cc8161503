import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(1)))
struct WatchdogMachineTests {
  private typealias Sight = WatchdogMachine.Sight

  @Test func `all is well: fed`() {
    var machine = WatchdogMachine()
    for _ in 0..<3 {
      let isFed = machine.look(Sight())
      #expect(isFed)
    }
  }

  @Test func `a coordinator whose refresh does not end is not fed`() {
    var machine = WatchdogMachine()
    let look2 = machine.look(Sight(coordinatorAnswers: false))
    #expect(!look2)
  }

  @Test func `a store thread that does not answer is not fed`() {
    var machine = WatchdogMachine()
    let look3 = machine.look(Sight())
    #expect(look3)
    let look4 = machine.look(Sight(storeAnswers: false))
    #expect(!look4)
  }

  @Test func `a store thread that waits for another process's lock makes progress`() {
    var machine = WatchdogMachine()
    let look5 = machine.look(Sight(storeAnswers: false, storeWaits: 10))
    #expect(look5)
    let look6 = machine.look(Sight(storeAnswers: false, storeWaits: 40))
    #expect(look6)
    let look7 = machine.look(Sight(storeAnswers: false, storeWaits: 40))
    #expect(!look7)
  }

  @Test func `the process is not given up while a pair waits to be stored`() {
    var machine = WatchdogMachine()
    let sight = Sight(coordinatorAnswers: false, pairIsUnstored: true, storeAnswers: false)
    for _ in 0..<5 {
      let isFed = machine.look(sight)
      #expect(isFed)
    }
  }
}
