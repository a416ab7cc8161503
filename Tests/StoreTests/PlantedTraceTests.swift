import Session
import TestSupport
import Testing

@testable import Store

/// A trace of an earlier session, put where a fault might leave it, and what is said of it.
struct PlantedTrace: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let finding: String
  let plant: @Sendable (StoreFixture, SQLiteSessionStore) async throws -> Void

  /// The mark of a sealed pair, and a session that is none of ours.
  private static let pair = "BLS1" + String(repeating: "A", count: 16)

  static let all: [PlantedTrace] = [
    PlantedTrace(
      testDescription: "a sealed pair in session.db",
      finding: "session.db still has a sealed pair of session 41414141"
    ) { fixture, _ in
      try write(
        "INSERT INTO event (sequence, at, kind, generation, detail) VALUES (1, 0, 'x', 0, ?)",
        [.text(pair)], in: fixture.path("session.db"))
    },
    PlantedTrace(
      testDescription: "a sealed pair in tips.db",
      finding: "tips.db still has a sealed pair of session 41414141"
    ) { fixture, _ in
      try write(
        "INSERT INTO tip VALUES ('x', ?1, 0, 0, 0, NULL, NULL, ?1)", [.blob(Array(pair.utf8))],
        in: fixture.path("tips.db"))
    },
    PlantedTrace(
      testDescription: "another session's row",
      finding: "session.db still has the row of session 41414141"
    ) { fixture, _ in
      try write(
        "UPDATE session SET session_id = ?", [.blob([UInt8](repeating: 0x41, count: 16))],
        in: fixture.path("session.db"))
    },
    PlantedTrace(testDescription: "pages that were not wiped", finding: "free pages") {
      fixture, _ in
      let path = fixture.path("session.db")
      try write("CREATE TABLE planted (a TEXT)", [], in: path)
      for _ in 0..<40 {
        try write(
          "INSERT INTO planted VALUES (?)", [.text(String(repeating: "x", count: 3000))], in: path)
      }
      try write("DROP TABLE planted", [], in: path)
    },
    PlantedTrace(
      testDescription: "the outbox's key, with nothing in the outbox",
      finding: "outbox.key is still"
    ) { fixture, _ in try fixture.put([1], "outbox.key") },
    PlantedTrace(
      testDescription: "half of a key's replacement", finding: "outbox.key.new is left of"
    ) { fixture, _ in try fixture.put([1], "outbox.key.new") },
    PlantedTrace(testDescription: "an earlier session's slot", finding: "belongs to an earlier") {
      fixture, _ in
      try fixture.put([1], "session-\(String(repeating: "41", count: 16)).rescue")
    },
    PlantedTrace(
      testDescription: "the store key from before a rekey", finding: "keyring still has"
    ) { _, store in await store.plantEarlierStoreKey() },
  ]

  /// As another program would, that does not wipe what it deletes.
  private static func write(_ sql: String, _ values: [SQLValue], in path: String) throws {
    let database = try Database(path: path, options: .init())
    defer { database.close() }
    _ = try database.rows("PRAGMA secure_delete = OFF", to: "prepare")
    try database.run(sql, values, to: "plant a trace")
  }
}

extension SQLiteSessionStore {
  fileprivate func plantEarlierStoreKey() { parts.keyring.stored.previous = "00" }
}

@Suite(.timeLimit(.minutes(1)))
struct PlantedTraceTests {
  @Test(arguments: PlantedTrace.all)
  func `a trace of an earlier session is found wherever it is`(trace: PlantedTrace) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      #expect(try await store.sessions.verifyErasure() == [])
      try await trace.plant(fixture, store.sessions)
      let findings = try await store.sessions.verifyErasure()
      #expect(findings.count == 1 && findings[0].contains(trace.finding), "\(findings)")
    }
  }
}
