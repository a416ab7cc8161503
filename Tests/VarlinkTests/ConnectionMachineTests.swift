import Testing
import Varlink

private struct Driver {
  var machine: ConnectionMachine

  init(_ limits: Limits = Limits()) {
    machine = ConnectionMachine(limits: limits)
  }

  /// Feeds calls of these methods and returns the slots that were begun.
  mutating func begin(_ methods: String..., more: Bool = false) -> [ConnectionMachine.Slot] {
    for method in methods {
      machine.receive(Array(#"{"method":"\#(method)","more":\#(more)}"#.utf8) + [0])
    }
    return steps()
  }

  mutating func steps() -> [ConnectionMachine.Slot] {
    var slots: [ConnectionMachine.Slot] = []
    while case .begin(let slot, _) = machine.next() { slots.append(slot) }
    return slots
  }

  mutating func finish(_ slot: ConnectionMachine.Slot, _ text: String) {
    machine.finish(slot, with: .success(Array(text.utf8)))
  }

  mutating func written(atMost count: Int = .max) -> String {
    var taken: [UInt8] = []
    machine.takeOutput { bytes in
      taken = Array(bytes.prefix(count))
      return taken.count
    }
    return String(decoding: taken, as: UTF8.self)
  }
}

@Suite(.timeLimit(.minutes(1)))
struct ConnectionMachineTests {
  @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
  func `replies leave in the order of the calls`(order: [Int]) {
    var driver = Driver()
    let slots = driver.begin("a.A", "a.B", "a.C")
    #expect(slots.count == 3)
    var written = ""
    for index in order {
      driver.finish(slots[index], "\(index)")
      written += driver.written()
    }
    #expect(written == "{\"parameters\":0}\0{\"parameters\":1}\0{\"parameters\":2}\0")
    #expect(driver.machine.pendingCalls == 0)
    #expect(driver.machine.unreadBytes == 0)
  }

  @Test func `a stream behind an open call is held back whole`() throws {
    var driver = Driver()
    let slots = driver.begin("a.A", "a.B", "a.C", more: true)
    try driver.machine.send(Array("1".utf8), on: slots[1])
    driver.finish(slots[2], "4")
    #expect(driver.written() == "")
    driver.finish(slots[0], "0")
    #expect(driver.written() == "{\"parameters\":0}\0{\"parameters\":1,\"continues\":true}\0")
    try driver.machine.send(Array("2".utf8), on: slots[1])
    #expect(driver.written() == "{\"parameters\":2,\"continues\":true}\0")
    driver.finish(slots[1], "3")
    #expect(driver.written() == "{\"parameters\":3}\0{\"parameters\":4}\0")
  }

  @Test func `a call is answered once`() {
    var driver = Driver()
    let slots = driver.begin("a.A", "a.B")
    driver.finish(slots[1], "1")
    driver.finish(slots[1], "again")
    driver.finish(slots[0], "0")
    driver.finish(slots[0], "again")
    #expect(driver.written() == "{\"parameters\":0}\0{\"parameters\":1}\0")
    #expect(throws: StreamFailure.ended) { try driver.machine.send([], on: slots[0]) }
  }

  @Test func `a oneway call is never answered`() {
    var driver = Driver()
    driver.machine.receive(Array(#"{"method":"a.A","oneway":true}"#.utf8) + [0])
    let slots = driver.steps()
    #expect(driver.machine.pendingCalls == 1)
    driver.finish(slots[0], "0")
    #expect(driver.written() == "")
    #expect(driver.machine.pendingCalls == 0)
  }

  @Test func `an upgrade is refused and the connection goes on`() {
    var driver = Driver()
    driver.machine.receive(Array(#"{"method":"a.A","upgrade":true}"#.utf8) + [0])
    #expect(driver.steps() == [])
    #expect(
      driver.written() == "{\"error\":\"org.varlink.service.MethodNotImplemented\","
        + "\"parameters\":{\"method\":\"a.A\"}}\0")
    #expect(driver.begin("a.B").count == 1)
  }

  @Test func `past the bound of pending calls it does not read on`() {
    var limits = Limits()
    limits.maxPendingCalls = 2
    var driver = Driver(limits)
    let slots = driver.begin("a.A", "a.B", "a.C")
    #expect(slots.count == 2)
    #expect(!driver.machine.wantsInput)
    driver.finish(slots[1], "1")
    #expect(!driver.machine.canStep)
    driver.finish(slots[0], "0")
    #expect(driver.machine.canStep)
    #expect(driver.steps().count == 1)
    #expect(driver.machine.wantsInput)
  }

  @Test func `only what waits behind the reply being sent counts as unread`() {
    var limits = Limits()
    limits.maxUnreadBytes = 100
    var driver = Driver(limits)
    let slots = driver.begin("a.A", "a.B", "a.C")
    driver.finish(slots[0], String(repeating: "x", count: 10_000))
    #expect(driver.machine.unreadBytes == 0)
    #expect(driver.machine.wantsInput)
    driver.finish(slots[1], String(repeating: "y", count: 101))
    #expect(!driver.machine.wantsInput)
    _ = driver.written(atMost: 9_000)
    #expect(!driver.machine.wantsInput)
    _ = driver.written(atMost: 1_100)
    #expect(driver.machine.wantsInput)
  }

  @Test func `what is held back counts as unread`() {
    var limits = Limits()
    limits.maxUnreadBytes = 100
    var driver = Driver(limits)
    let slots = driver.begin("a.A", "a.B")
    driver.finish(slots[1], String(repeating: "y", count: 101))
    #expect(!driver.machine.wantsInput)
  }

  @Test func `a stream whose client does not read is told so and may still end`() throws {
    var limits = Limits()
    limits.maxUnreadBytes = 100
    var driver = Driver(limits)
    let slots = driver.begin("a.A", more: true)
    let event = [UInt8](repeating: UInt8(ascii: "1"), count: 60)
    try driver.machine.send(event, on: slots[0])
    try driver.machine.send(event, on: slots[0])
    try driver.machine.send(event, on: slots[0])
    #expect(throws: StreamFailure.tooSlow) { try driver.machine.send(event, on: slots[0]) }
    driver.machine.finish(slots[0], with: .failure(VarlinkError(name: "a.TooSlow")))
    #expect(driver.written().hasSuffix("{\"error\":\"a.TooSlow\",\"parameters\":{}}\0"))
  }

  @Test func `after the end of input all replies are delivered and then it is done`() {
    var driver = Driver()
    let slots = driver.begin("a.A")
    driver.machine.receive(Array(#"{"method":"a.B"}"#.utf8) + [0] + Array("half".utf8))
    driver.machine.endInput()
    let more = driver.steps()
    #expect(more.count == 1)
    driver.finish(slots[0], "0")
    driver.finish(more[0], "1")
    #expect(!driver.machine.isDone)
    _ = driver.written()
    #expect(driver.machine.isDone)
  }

  @Test func `nothing is begun after a violation`() {
    var driver = Driver()
    driver.machine.receive(Array("{\"method\":\"a.A\"}\0[]\0{\"method\":\"a.B\"}\0".utf8))
    #expect(driver.steps().count == 1)
    guard case .violation = driver.machine.next() else {
      Issue.record("no violation")
      return
    }
    #expect(!driver.machine.wantsInput)
    #expect(driver.begin("a.C") == [])
  }
}
