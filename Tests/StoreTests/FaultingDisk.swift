import CFaultVFS
import FoundationEssentials
import Platform
import Session
import Store
import TestSupport
import Testing

/// A store on the faulting VFS. The VFS is one for the process: its suites run one after another.
/// On a memory file system where there is one: it is the calls that count, not the disk.
struct FaultingDisk {
  let fixture: StoreFixture
  let root: String

  init(hooks: StoreHooks = StoreHooks()) throws {
    try #require(fault_vfs_reset() == 0)
    var fixture = try StoreFixture(hooks: hooks)
    let memory = "/dev/shm"
    root =
      FileManager.default.isWritableFile(atPath: memory)
      ? memory + "/brewlog-store-\(ProcessInfo.processInfo.processIdentifier)"
      : fixture.scratch.path("disk")
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    fixture.configuration.directory = root + "/state"
    fixture.configuration.vfs = "brewlog-fault"
    self.fixture = fixture
  }

  func remove() { try? FileManager.default.removeItem(atPath: root) }

  /// The same directory on the system's own VFS, as a restart after the fault has gone.
  func restart() async throws -> Loaded {
    var healed = fixture
    healed.configuration.vfs = nil
    healed.configuration.hooks = StoreHooks()
    return try await healed.life { try await $0.sessions.loaded() }
  }

  /// Everything as it was when `template` was taken.
  func restore(_ template: String) throws {
    try? FileManager.default.removeItem(atPath: fixture.directory)
    try FileManager.default.copyItem(atPath: template, toPath: fixture.directory)
    try #require(fault_vfs_reset() == 0)
  }
}

/// What a restart restores, in one word.
struct Restored: Hashable, CustomStringConvertible {
  var description: String

  init(_ loaded: Loaded) {
    if let facts = loaded.facts {
      description = "session \(loaded.generation) rotation \(facts.rotations)"
    } else {
      description = "signed out at \(loaded.generation)"
    }
  }

  private init(_ text: String) { description = text }

  static func session(_ generation: UInt64, rotation: Int = 0) -> Restored {
    Restored("session \(generation) rotation \(rotation)")
  }

  static func signedOut(_ generation: UInt64) -> Restored {
    Restored("signed out at \(generation)")
  }
}

/// The work that is put through every fault: a refresh, a sign-in over the session, a logout.
struct Work {
  /// What a restart may find now: the last answered state, and what was being done when it failed.
  private(set) var allowed: Set<Restored> = [.session(1)]
  private(set) var failures = 0

  mutating func run(_ store: SQLiteSessionStore) async throws {
    await attempt([]) {
      try await store.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
    }
    await attempt([.session(1, rotation: 1)]) { try await store.commit(1, rotation: 1) }
    let isReplaced = await attempt([.session(2)]) { try await store.install(2) }
    if isReplaced {
      await attempt([.session(2, rotation: 1)]) { try await store.commit(2, rotation: 1) }
    } else {
      // The old session goes on after a sign-in that failed.
      await attempt([.session(1, rotation: 2)]) { try await store.commit(1, rotation: 2) }
    }
    await attempt([.signedOut(3)]) {
      try await store.destroy(through: Generation(3), reason: "logout")
    }
  }

  @discardableResult
  private mutating func attempt(
    _ results: Set<Restored>, _ step: () async throws -> Void
  ) async -> Bool {
    let before = allowed
    allowed.formUnion(results)
    do {
      try await step()
      if !results.isEmpty { allowed = results }
      return true
    } catch {
      failures += 1
      // A later step starts from what is in force, but a failed one may still come true.
      allowed = before.union(results)
      return false
    }
  }
}
