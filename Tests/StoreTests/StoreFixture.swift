import Execution
import FoundationEssentials
import Glibc
import Platform
import Secrets
import Session
import Store
import TestSupport
import Testing
import Tips

/// A store in a directory of its own, opened and opened again as a daemon's restarts would.
struct StoreFixture {
  let scratch: ScratchDirectory
  var configuration: StoreConfiguration

  init(hooks: StoreHooks = StoreHooks()) throws {
    scratch = try ScratchDirectory()
    configuration = StoreConfiguration(
      directory: scratch.path("state"), runtimeDirectory: scratch.path("run"),
      machineIDPath: scratch.path("machine-id"), busyTimeout: .milliseconds(50), hooks: hooks,
      clock: { WallTime(milliseconds: 1_750_000_000_000) })
    try FileManager.default.createDirectory(
      atPath: scratch.path("run"), withIntermediateDirectories: true)
    try Data("00112233445566778899aabbccddeeff\n".utf8).write(
      to: URL(fileURLWithPath: scratch.path("machine-id")))
  }

  var directory: String { configuration.directory }
  func path(_ name: String) -> String { directory + "/" + name }

  /// A child that another test starts holds every lock of this process until it runs its own
  /// program: then the directory is asked for again.
  func open() throws(StoreOpenError) -> OpenedStore {
    for _ in 0..<100_000 {
      do throws(StoreOpenError) {
        return try SQLiteSessionStore.open(configuration)
      } catch .heldByAnother(_, let pid) where pid == getpid() {
        sched_yield()
      }
    }
    return try SQLiteSessionStore.open(configuration)
  }

  /// Opens, lets `body` work, and closes: one life of a daemon.
  func life<Result: Sendable>(
    _ body: (OpenedStore) async throws -> Result
  ) async throws -> Result {
    let store = try open()
    let result: Result
    do {
      result = try await body(store)
    } catch {
      await store.sessions.close()
      throw error
    }
    await store.sessions.close()
    return result
  }

  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
  }

  func contents(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  func put(_ bytes: [UInt8], _ name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
  }

  func sessionKeys() throws -> [String] {
    try names().filter { $0.hasPrefix("session-") && $0.hasSuffix(".key") }
  }
}

/// Obvious dummies, long enough to be looked for.
enum Dummy {
  static func session(_ number: UInt8) throws -> SessionID {
    try #require(SessionID(bytes: [UInt8](repeating: number, count: 16)))
  }

  static func access(_ rotation: Int) -> String { "dummy-access-\(rotation)-abcdefghijklmnop" }
  static func refresh(_ rotation: Int) -> String { "dummy-refresh-\(rotation)-abcdefghijklmnop" }

  static func facts(_ generation: UInt64, rotation: Int = 0) throws -> SessionFacts {
    SessionFacts(
      id: try session(UInt8(generation)), generation: Generation(generation),
      binding: UpstreamBinding(
        issuer: "https://issuer.example", clientID: "brewlog", apiOrigin: "https://api.example"),
      account: "person@example", accountVerified: true,
      signedInAt: WallTime(milliseconds: 1_700_000_000_000), scope: "tips", rotations: rotation,
      lastRefreshAt: rotation == 0 ? nil : WallTime(milliseconds: 1_700_000_100_000),
      accessTokenReceivedAt: WallTime(milliseconds: 1_700_000_100_000),
      accessTokenExpiresAt: WallTime(milliseconds: 1_700_003_700_000))
  }

  static func record(_ generation: UInt64, rotation: Int = 0) throws -> SessionRecord {
    SessionRecord(
      facts: try facts(generation, rotation: rotation),
      pair: TokenPair(
        access: try Secret(copying: Array(access(rotation).utf8)),
        refresh: try Secret(copying: Array(refresh(rotation).utf8))))
  }

  static func permit(_ generation: UInt64) throws -> WritePermit {
    WritePermit(mintedFor: Generation(generation), session: try session(UInt8(generation)))
  }

  static func intent(tries: Int = 1) -> RefreshIntent {
    RefreshIntent(
      token: Fingerprint(text: "fp:000000000000"),
      startedAt: WallTime(milliseconds: 1_700_000_000_000), tries: tries)
  }

  static func tip(_ generation: UInt64, id: String, at milliseconds: Int64 = 0) throws -> CachedTip
  {
    CachedTip(
      key: .item(id), tip: Tip(id: id, title: "A title", body: "A body", tags: ["pour-over"]),
      session: try session(UInt8(generation)), generation: Generation(generation),
      fetchedAt: WallTime(milliseconds: 1_700_000_000_000 + milliseconds), freshFor: .seconds(60),
      entityTag: "\"e\"")
  }
}

extension SQLiteSessionStore {
  func install(_ generation: UInt64) throws {
    try install(try Dummy.record(generation), permit: try Dummy.permit(generation))
  }

  func commit(_ generation: UInt64, rotation: Int) throws {
    try commit(
      try Dummy.record(generation, rotation: rotation), permit: try Dummy.permit(generation))
  }
}

/// What a load found, in a form that tests can compare.
struct Loaded: Equatable {
  var generation: UInt64
  var facts: SessionFacts?
  var access: String?
  var refresh: String?
  var intent: RefreshIntent?
  var backoff: BackoffRecord?
  var reason: String?

  init(_ loaded: consuming LoadedSession) {
    generation = loaded.generation.number
    intent = loaded.intent
    backoff = loaded.backoff
    reason = loaded.reason
    if let record = loaded.record.take() {
      facts = record.facts
      access = Self.text(record.pair.access)
      refresh = Self.text(record.pair.refresh)
    }
  }

  static func text(_ token: borrowing Secret?) -> String? {
    switch token {
    case .some(let token): token.withBytes { String(decoding: $0, as: UTF8.self) }
    case .none: nil
    }
  }
}

extension SQLiteSessionStore {
  func loaded() throws -> Loaded { Loaded(try load()) }
}

/// Collects what hooks saw, and fails the steps that it is told to.
final class Script: Sendable {
  private let state = Locked((failing: [StoreStep: StoreError](), seen: [StoreStep]()))

  var hooks: StoreHooks {
    StoreHooks { step in
      self.state.withLock { state in
        state.seen.append(step)
        return state.failing[step]
      }
    }
  }

  var seen: [StoreStep] { state.withLock { $0.seen } }

  func fail(_ step: StoreStep, with error: StoreError?) {
    state.withLock { $0.failing[step] = error }
  }

  func forget() { state.withLock { $0.seen = [] } }
}

extension StoreFixture {
  func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path(name)) }
}

func mode(of path: String) throws -> Int {
  let attributes = try FileManager.default.attributesOfItem(atPath: path)
  return try #require(attributes[.posixPermissions] as? Int)
}

extension StoreFixture {
  func setMachine(_ id: String) throws {
    try Data((id + "\n").utf8).write(to: URL(fileURLWithPath: scratch.path("machine-id")))
  }

  func makeDirectory(_ name: String) throws {
    try FileManager.default.createDirectory(
      atPath: path(name), withIntermediateDirectories: false)
  }
}

extension SQLiteSessionStore {
  func refreshToken(of revocation: Int64) throws -> String? {
    guard let pair = try tokens(of: revocation) else { return nil }
    return Loaded.text(pair.refresh)
  }
}
