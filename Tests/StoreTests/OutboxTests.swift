import Execution
import Platform
import Secrets
import Session
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OutboxTests {
  @Test func `a logout hands its tokens to the outbox, sealed under the outbox's own key`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      let queued = try await store.sessions.destroy(
        through: Generation(2), reason: "logout", revoking: try Dummy.record(1))
      #expect(queued)
    }
    try await fixture.life { store in
      let pending = try await store.sessions.pending()
      #expect(pending.count == 1)
      let entry = try #require(pending.first)
      #expect(try entry.session == Dummy.session(1) && entry.binding == Dummy.facts(1).binding)
      #expect(try await store.sessions.refreshToken(of: entry.id) == Dummy.refresh(0))
      try await store.sessions.recordTry(of: entry.id)
      #expect(try await store.sessions.pending().first?.tries == 1)
      #expect(try await store.sessions.verifyErasure() == [])
    }
    for name in try fixture.names() {
      #expect(Dummy.search.find(in: try fixture.contents(name)) == nil)
    }
  }

  @Test func `a sign-in that replaces a session hands the old tokens over`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      let queued = try await store.sessions.install(
        try Dummy.record(2), permit: try Dummy.permit(2), revoking: try Dummy.record(1))
      #expect(queued)
      #expect(try await store.sessions.pending().map(\.session) == [Dummy.session(1)])
    }
  }

  @Test func `with the last entry the key goes, too`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.add(try Dummy.record(1))
      try await store.sessions.add(try Dummy.record(2))
      let pending = try await store.sessions.pending()
      try await store.sessions.remove(pending[0].id)
      #expect(try fixture.names().contains("outbox.key"))
      try await store.sessions.remove(pending[1].id)
      #expect(try !fixture.names().contains("outbox.key"))
      #expect(try await store.sessions.pending() == [])
    }
  }

  @Test func `forgetting all leaves nothing that could be opened`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.add(try Dummy.record(1))
      let id = try #require(try await store.sessions.pending().first?.id)
      try await store.sessions.forgetAll()
      #expect(try !fixture.names().contains("outbox.key"))
      #expect(try await store.sessions.refreshToken(of: id) == nil)
      #expect(try await store.sessions.pending() == [])
    }
  }

  @Test func `a day is the longest that a token waits`() async throws {
    let time = Locked(WallTime(milliseconds: 1_750_000_000_000))
    var fixture = try StoreFixture()
    fixture.configuration.clock = { time.withLock { $0 } }
    try await fixture.life { store in
      try await store.sessions.add(try Dummy.record(1))
      time.withLock { $0 = $0.advanced(by: .seconds(86_399)) }
      #expect(try await store.sessions.pending().count == 1)
      let port: any RevocationOutbox = store.sessions
      #expect(try await port.dropExpired() == 0)
      time.withLock { $0 = $0.advanced(by: .seconds(2)) }
      #expect(try await port.dropExpired() == 1)
      #expect(try await store.sessions.pending() == [])
      #expect(try !fixture.names().contains("outbox.key"))
    }
  }

  @Test func `a logout without a key for the outbox goes through, not queued`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try fixture.makeDirectory("outbox.key")
      let queued = try await store.sessions.destroy(
        through: Generation(2), reason: "logout", revoking: try Dummy.record(1))
      #expect(!queued)
      #expect(try await store.sessions.inspect().facts == nil)
    }
  }
}

@Suite(.timeLimit(.minutes(1)))
struct HistoryTests {
  private func event(_ sequence: Int64, _ kind: String = "refreshSucceeded") -> EventRecord {
    EventRecord(
      sequence: sequence, at: WallTime(milliseconds: 1_700_000_000_000 + sequence), kind: kind,
      generation: Generation(1), detail: "a detail", actorUID: 1000, httpStatus: 200)
  }

  @Test func `the history survives logouts and restarts, newest first`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      #expect(try await store.sessions.lastSequence() == 0)
      try await store.sessions.install(1)
      try await store.sessions.append([event(1), event(2)])
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      try await store.sessions.append([event(3, "signedOut")])
    }
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      #expect(try await store.sessions.lastSequence() == 3)
      #expect(
        try await store.sessions.newest(limit: 2) == [event(3, "signedOut"), event(2)])
    }
  }

  @Test func `a thousand events are kept, and the numbers go on`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.append((1...1000).map { event($0) })
      #expect(try await store.sessions.newest(limit: 2000).last?.sequence == 1)
      try await store.sessions.append([event(1001), event(1002)])
      let all = try await store.sessions.newest(limit: 2000)
      #expect(all.count == 1000 && all.first?.sequence == 1002 && all.last?.sequence == 3)
      #expect(try await store.sessions.lastSequence() == 1002)
    }
  }

  @Test func `a damaged session store does not keep the history from going on`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.append([event(7)]) }
    try fixture.put([1, 2, 3], "session.db")
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      try await store.sessions.append([event(8)])
      #expect(try await store.sessions.newest(limit: 10).map(\.sequence) == [8])
    }
  }
}

@Suite(.timeLimit(.minutes(1)))
struct CopiedStoreTests {
  @Test func `a store on another machine says that it was copied, until it is adopted`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    #expect(try await fixture.life { try await $0.sessions.load().isCopied } == false)
    try fixture.setMachine("ffeeddccbbaa99887766554433221100")
    try await fixture.life { store in
      #expect(try await store.sessions.load().isCopied)
      try await store.sessions.adoptMachine(permit: try Dummy.permit(1))
    }
    #expect(try await fixture.life { try await $0.sessions.load().isCopied } == false)
  }

  @Test(arguments: ["", "uninitialized", "00000000000000000000000000000000"])
  func `a machine without an id is not asked for one`(id: String) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    try fixture.setMachine(id)
    #expect(try await fixture.life { try await $0.sessions.load().isCopied } == false)
  }

  @Test func `the machine's id itself is not in the store`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let id = "00112233445566778899aabbccddeeff"
    let bytes = try #require([UInt8](hex: id))
    for name in try fixture.names() {
      let content = try fixture.contents(name)
      #expect(content.firstRange(of: Array(id.utf8)) == nil)
      #expect(content.firstRange(of: bytes) == nil)
    }
  }
}
