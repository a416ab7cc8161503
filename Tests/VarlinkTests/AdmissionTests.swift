import Platform
import TestSupport
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct AdmissionTests {
  @Test func `past the bound of connections new ones are closed and later ones served`()
    async throws
  {
    var limits = Limits()
    limits.maxConnections = 2
    let notices = Locked<[ServerNotice]>([])
    let fixture = try await ServerFixture(
      limits: limits, notice: { notice in notices.withLock { $0.append(notice) } }
    ) { _, _ in .now(success()) }
    try await fill(fixture)
    #expect(notices.withLock { $0 } == [.connectionsExhausted(limit: 2)])
    await fixture.close()
  }

  @Test func `past the bound of one user new ones are closed and later ones served`() async throws {
    var limits = Limits()
    limits.maxConnectionsPerUser = 2
    let notices = Locked<[ServerNotice]>([])
    let fixture = try await ServerFixture(
      limits: limits, notice: { notice in notices.withLock { $0.append(notice) } }
    ) { _, _ in .now(success()) }
    try await fill(fixture)
    guard case .userExhausted(_, limit: 2) = notices.withLock({ $0 }).first else {
      Issue.record("no notice")
      return
    }
    #expect(notices.withLock { $0.count } == 1)
    await fixture.close()
  }

  /// With room for two connections.
  private func fill(_ fixture: ServerFixture) async throws {
    do {
      let first = try fixture.connect()
      let second = try fixture.connect()
      for _ in 0..<3 {
        let third = try fixture.connect()
        #expect(third.reply() == nil)
      }
      first.call("Now")
      second.call("Now")
      #expect(first.reply() == #"{"parameters":{}}"#)
      #expect(second.reply() == #"{"parameters":{}}"#)
    }
    await fixture.connections(become: 0)
    let later = try fixture.connect()
    later.call("Now")
    #expect(later.reply() == #"{"parameters":{}}"#)
  }

  @Test func `an idle connection is closed after its time and a busy one is not`() async throws {
    var limits = Limits()
    limits.idleTimeout = .milliseconds(20)
    let gate = Gate()
    let fixture = try await ServerFixture(limits: limits) { _, _ in
      .later {
        await gate.wait()
        return success()
      }
    }
    let busy = try fixture.connect()
    busy.call("Later")
    await gate.arrived(1)
    let idle = try fixture.connect()
    idle.send("{\"half")
    #expect(idle.reply() == nil)
    gate.open()
    #expect(busy.reply() == #"{"parameters":{}}"#)
    #expect(busy.reply() == nil)
    await fixture.close()
  }

  @Test(arguments: [
    (40, 0, 20), (40, 22, 9), (40, 39, 1), (40, 60, 1), (1024, 24, 936), (100_000, 24, 16_384),
    (1, 0, 1), (0, 0, 1),
  ])
  func `connections leave descriptors for the rest of the process`(
    descriptors: Int, inUse: Int, room: Int
  ) {
    #expect(Limits().connections(descriptors: descriptors, inUse: inUse) == room)
  }
}
