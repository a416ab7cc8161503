import FoundationEssentials
import Session
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OfflineTests {
  @Test func `a store is read without its key and without a change to it`() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    try await store.sessions.install(3)
    try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(3))
    try await store.tips.put(try Dummy.tip(3, id: "a"), permit: try Dummy.permit(3))
    // A copy of a running store, with its logs, as a crash would leave it.
    let copy = fixture.scratch.path("copy")
    try FileManager.default.copyItem(atPath: fixture.directory, toPath: copy)
    await store.sessions.close()
    try FileManager.default.removeItem(atPath: copy + "/master.key")
    let before = try FileManager.default.contentsOfDirectory(atPath: copy).sorted()
    let offline = try OfflineStore.read(copy)
    #expect(offline.generation == Generation(3) && offline.schemaVersion == 2)
    #expect(try offline.facts == Dummy.facts(3))
    #expect(offline.intent == Dummy.intent() && offline.backoff == nil)
    #expect(offline.hasSessionKey && !offline.hasRescuedPair)
    #expect(offline.cachedTips == 1 && offline.integrity == "ok")
    #expect(offline.files.contains { $0.name == "session.db-wal" && $0.sizeBytes > 0 })
    #expect(try FileManager.default.contentsOfDirectory(atPath: copy).sorted() == before)
  }

  @Test func `a directory without a store is said to be none`() throws {
    let fixture = try StoreFixture()
    let error = #expect(throws: StoreOpenError.self) {
      _ = try OfflineStore.read(fixture.scratch.path)
    }
    #expect(error?.message.contains("no session.db") == true)
  }

  @Test func `a store of garbage is an error, not a crash`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    try fixture.put([UInt8](repeating: 7, count: 8192), "session.db")
    #expect(throws: StoreOpenError.self) { _ = try OfflineStore.read(fixture.directory) }
  }
}
