import FoundationEssentials
import Session
import Store
import Testing

/// Something that a store does, put through power cuts.
struct PowerScenario: CustomTestStringConvertible, Sendable {
  var testDescription: String
  var before: Set<String>
  /// Whether it starts on a store with a session.
  var needsSession = true
  /// False where nothing is promised to anybody, so that the next start would do all of it again.
  var takesSyncsOut = true
  /// Syncs that no cut notices the lack of: the table beside this file, which gives the reasons.
  var spared: Set<String> {
    let path = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    let table = try? String(contentsOfFile: "/\(path)/spared-syncs", encoding: .utf8)
    let rows = (table ?? "").split(separator: "\n").map { row in
      row.split(separator: "|").map { cell in
        String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
      }
    }
    return Set(rows.filter { $0.count == 3 && $0[0] == testDescription }.map { $0[1] })
  }
  var restart: @Sendable (PowerBench, _ image: String) async throws -> String = {
    try await $0.restart($1)
  }
  var prepare: @Sendable (PowerBench) async throws -> Void = { _ in }
  var run: @Sendable (PowerBench, PowerScript) async throws -> Void

  static let all: [PowerScenario] = [
    firstImport, refresh, importOver, logout, finishedLogout, rescue, outbox, rekey, setAside,
    migration,
  ]

  static func session(_ generation: UInt64, _ rotation: Int = 0) -> Set<String> {
    [Restored.session(generation, rotation: rotation).description]
  }

  static func intended(_ rotation: Int) -> Set<String> {
    [Restored.session(1, rotation: rotation).description + ", with an intent"]
  }

  static func signedOut(_ generation: UInt64) -> Set<String> {
    [Restored.signedOut(generation).description]
  }

  static func revoking(_ found: Set<String>) -> Set<String> {
    Set(found.map { $0 + ", with a revocation" })
  }

  static func key(_ generation: UInt64) throws -> String {
    "state/session-\(try Dummy.session(UInt8(generation)).hex).key"
  }

  static let firstImport = PowerScenario(
    testDescription: "a first start and a first import", before: signedOut(0),
    needsSession: false
  ) { bench, script in
    let store = try bench.fixture.open()
    _ = try await store.sessions.loaded()
    // The tips' fence moves before the session: a cut in between costs the generation a number.
    try await script.step("import", to: session(1), passing: signedOut(1)) {
      try await store.sessions.install(1)
    }
    try await script.step("close") { await store.sessions.close() }
  }

  static let refresh = PowerScenario(
    testDescription: "refreshes", before: session(1)
  ) { bench, script in
    let store = try bench.fixture.open()
    _ = try await store.sessions.loaded()
    for rotation in 1...2 {
      try await script.step("intent", to: intended(rotation - 1)) {
        try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
      }
      try await script.step("commit", to: session(1, rotation)) {
        try await store.sessions.commit(1, rotation: rotation)
      }
    }
    try await script.step("close") { await store.sessions.close() }
  }

  static let importOver = PowerScenario(
    testDescription: "an import over a session", before: session(1)
  ) { bench, script in
    let store = try bench.fixture.open()
    _ = try await store.sessions.loaded()
    try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
    try await script.step("import", to: revoking(session(2)), destroying: [try key(1)]) {
      _ = try await store.sessions.install(
        try Dummy.record(2), permit: try Dummy.permit(2), revoking: try Dummy.record(1))
    }
    try await script.step("close") { await store.sessions.close() }
  }

  static let logout = PowerScenario(
    testDescription: "a logout", before: session(1)
  ) { bench, script in
    let store = try bench.fixture.open()
    _ = try await store.sessions.loaded()
    try await store.tips.put(try Dummy.tip(1, id: "a"), permit: try Dummy.permit(1))
    // The key goes first: a restart between it and the rows has no revocation left to make.
    try await script.step(
      "logout", to: revoking(signedOut(2)), passing: signedOut(2), destroying: [try key(1)]
    ) {
      _ = try await store.sessions.destroy(
        through: Generation(2), reason: "logout", revoking: try Dummy.record(1))
    }
    try await script.step("close") { await store.sessions.close() }
  }

  /// A restart that finds a logout half done.
  static let finishedLogout = PowerScenario(
    testDescription: "a logout that a restart finishes", before: signedOut(5),
    takesSyncsOut: false,
    prepare: { bench in
      bench.script.fail(.tipsFenceMoved, with: .full)
      bench.script.fail(.sessionToBeWritten, with: .full)
      try await bench.fixture.life { store in
        _ = try await store.sessions.loaded()
        try await store.sessions.destroy(through: Generation(5), reason: "logout")
      }
      bench.script.fail(.tipsFenceMoved, with: nil)
      bench.script.fail(.sessionToBeWritten, with: nil)
    }
  ) { bench, script in
    let store = try bench.fixture.open()
    _ = try await store.sessions.loaded()
    try await script.step("close") { await store.sessions.close() }
  }

  static let rescue = PowerScenario(
    testDescription: "a pair that only the rescue slot takes", before: session(1)
  ) { bench, script in
    let store = try bench.fixture.open()
    _ = try await store.sessions.loaded()
    bench.script.fail(.sessionToBeWritten, with: .full)
    try await script.step("rescue", to: session(1, 1)) {
      try await store.sessions.commit(1, rotation: 1)
    }
    bench.script.fail(.sessionToBeWritten, with: nil)
    try await script.step("settle") { _ = await store.sessions.settle() }
    try await script.step("close") { await store.sessions.close() }
  }

  static let outbox = PowerScenario(
    testDescription: "a revocation that is done", before: revoking(signedOut(2)),
    prepare: { bench in
      try await bench.fixture.life { store in
        _ = try await store.sessions.loaded()
        _ = try await store.sessions.destroy(
          through: Generation(2), reason: "logout", revoking: try Dummy.record(1))
      }
    }
  ) { bench, script in
    let store = try bench.fixture.open()
    _ = try await store.sessions.loaded()
    let id = try #require(try await store.sessions.pending().first?.id)
    try await script.step("revoked", to: signedOut(2), destroying: ["state/outbox.key"]) {
      try await store.sessions.remove(id)
    }
    try await script.step("close") { await store.sessions.close() }
  }

  static let rekey = PowerScenario(
    testDescription: "a rekey", before: session(1)
  ) { bench, script in
    try await script.step("rekey", to: session(1), destroying: ["state/master.key"]) {
      _ = try StoreKeys.rekey(bench.fixture.configuration)
    }
  }

  static let setAside = PowerScenario(
    testDescription: "a damaged store that is set aside",
    before: Set(signedOut(2).map { $0 + ", set aside" }),
    takesSyncsOut: false,
    prepare: { try $0.fixture.put([UInt8](repeating: 0x5a, count: 20_000), "session.db") }
  ) { bench, script in
    let store = try bench.fixture.open()
    _ = try await store.sessions.loaded()
    try await script.step("close") { await store.sessions.close() }
  }
}
