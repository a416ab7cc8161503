import FoundationEssentials
import Session
import Store
import TestSupport
import Testing

/// I9, on a disk that keeps nothing but what was synced: whatever a step writes, and whenever the
/// power goes, a restart finds the state before or the one after it; once it is answered, the latter.
/// Every sync that the store makes is shown to be needed.
@Suite(.serialized, .interposed, .timeLimit(.minutes(5)))
struct PowerCutTests {
  @Test(arguments: PowerScenario.all)
  func `a power cut at any point loses nothing that was answered, and leaving out a sync would`(
    scenario: PowerScenario
  ) async throws {
    let bench = try PowerBench()
    let script = try await bench.record(scenario)
    let report = try await PowerCut(
      recording: script.recording, root: bench.root,
      restart: { try await scenario.restart(bench, $0) }, takesSyncsOut: scenario.takesSyncsOut
    ).run()
    #expect(report.problems == [])
    #expect(report.unnoticed == scenario.spared, "\(report.noticed.sorted())")
    #expect(report.images > 10)
  }

  /// B129: not set once they are there, so not open to others for a moment, whoever makes them and
  /// how often; this process's own mask, which the daemon narrows besides, does nothing for it.
  @Test(arguments: PowerScenario.all)
  func `every file is private from its first moment`(scenario: PowerScenario) async throws {
    let bench = try PowerBench()
    let script = try await bench.record(scenario)
    for case .create(let name, _, let mode) in script.recording.changes {
      #expect(mode & 0o077 == 0, "\(name) was made with \(String(mode, radix: 8))")
    }
  }

  @Test func `SQLite's own calls are recorded, too`() async throws {
    let bench = try PowerBench()
    let script = try await bench.record(PowerScenario.all[1])
    var model = script.recording.start
    var targets: Set<String> = []
    for change in script.recording.changes {
      if let target = model.target(of: change) { targets.insert(target) }
      model.apply(change)
    }
    #expect(targets.isSuperset(of: ["session.db", "session.db-wal", "the directory"]))
  }
}

/// A disk of one scenario's own: `state` in `root/disk`, images of it beside. On a memory file system
/// where there is one: it is the calls that count.
final class PowerBench {
  let root: String
  let disk: String
  let script = Script()
  private let scratch: ScratchDirectory
  private(set) var fixture: StoreFixture

  init() throws {
    scratch = try ScratchDirectory()
    let memory = "/dev/shm"
    root =
      FileManager.default.isWritableFile(atPath: memory)
      ? memory + scratch.path.replacing("/tmp/", with: "/") : scratch.path("power")
    disk = root + "/disk"
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
    fixture = try StoreFixture(hooks: script.hooks)
    fixture.configuration.directory = disk + "/state"
  }

  deinit {
    try? FileManager.default.removeItem(atPath: root)
  }

  func record(_ scenario: PowerScenario) async throws -> PowerScript {
    if scenario.needsSession {
      try await fixture.life { try await $0.sessions.install(1) }
    }
    try await scenario.prepare(self)
    let recorded = try PowerScript(disk, scenario.before)
    try await scenario.run(self, recorded)
    recorded.end()
    return recorded
  }

  /// What a start finds, whether all is well with it, and that it can go on.
  func restart(_ image: String) async throws -> String {
    var again = fixture
    again.configuration.directory = image + "/state"
    again.configuration.hooks = StoreHooks()
    return try await again.life { store in
      let loaded = try await store.sessions.loaded()
      var words = Restored(loaded).description
      if loaded.intent != nil { words += ", with an intent" }
      if loaded.reason?.contains("set aside") == true { words += ", set aside" }
      let warnings = store.warnings + (await store.checkTips())
      if !warnings.isEmpty { words += ", with warnings \(warnings)" }
      if loaded.facts != nil, try again.slotSize() < 65_536 { words += ", without a rescue slot" }
      // As the daemon does next.
      if let entry = try await store.sessions.pending().first {
        let isDead = try await store.sessions.refreshToken(of: entry.id) == nil
        words += ", with a \(isDead ? "dead " : "")revocation"
      }
      let traces = try await store.sessions.verifyErasure()
      if !traces.isEmpty { words += ", with traces \(traces)" }
      try await store.sessions.install(loaded.generation + 1)
      return words
    }
  }
}

extension StoreFixture {
  fileprivate func slotSize() throws -> Int {
    let name = try names().first { $0.hasSuffix(".rescue") } ?? ""
    return FileManager.default.contents(atPath: path(name))?.count ?? 0
  }
}
