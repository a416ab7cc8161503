import CFaultVFS
import FoundationEssentials
import Glibc
import Platform
import Session
import Store
import TestSupport
import Testing

/// I5 and I9 on a disk that fails, call by call.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct DiskFaultTests {
  @Test(
    arguments: [FAULT_FULL, FAULT_IO, FAULT_SHORT_WRITE, FAULT_SYNC].flatMap { kind in
      [false, true].map { (kind.rawValue, $0) }
    })
  func `whichever call fails, a restart finds the last answered state or the one being made`(
    kind: UInt32, sticky: Bool
  ) async throws {
    let disk = try FaultingDisk()
    defer { disk.remove() }
    try await disk.fixture.life { try await $0.sessions.install(1) }
    let template = disk.root + "/template"
    try FileManager.default.copyItem(atPath: disk.fixture.directory, toPath: template)
    var n = 1
    while true {
      try disk.restore(template)
      let store = try disk.fixture.open()
      _ = try await store.sessions.loaded()
      fault_vfs_arm(fault_kind(rawValue: kind), Int32(n), sticky ? 1 : 0)
      var work = Work()
      try await work.run(store.sessions)
      // Closing folds the log in: on a disk that still fails, too.
      await store.sessions.close()
      let calls = Int(fault_vfs_calls())
      fault_vfs_arm(FAULT_NONE, 0, 0)
      let found = Restored(try await disk.restart())
      #expect(work.allowed.contains(found), "call \(n): \(found), allowed \(work.allowed)")
      if n > calls { break }
      n += 1
    }
    #expect(n > 10)
  }

  /// Without a restart: the store itself clears up what was made for a commit that failed.
  @Test(
    arguments: [FAULT_FULL, FAULT_IO, FAULT_SYNC].flatMap { kind in
      [false, true].map { (kind.rawValue, $0) }
    })
  func `whichever call fails, nothing is left over once the disk works`(
    kind: UInt32, sticky: Bool
  ) async throws {
    let disk = try FaultingDisk()
    defer { disk.remove() }
    try await disk.fixture.life { try await $0.sessions.install(1) }
    let template = disk.root + "/template"
    try FileManager.default.copyItem(atPath: disk.fixture.directory, toPath: template)
    var n = 1
    while true {
      try disk.restore(template)
      let calls = try await disk.fixture.life { store in
        _ = try await store.sessions.loaded()
        fault_vfs_arm(fault_kind(rawValue: kind), Int32(n), sticky ? 1 : 0)
        try? await store.sessions.add(try Dummy.record(1))
        let isReplaced =
          (try? await store.sessions.install(
            try Dummy.record(2), permit: try Dummy.permit(2), revoking: try Dummy.record(1))) != nil
        if n % 2 == 0 {
          _ = try? await store.sessions.destroy(
            through: Generation(3), reason: "logout",
            revoking: try Dummy.record(isReplaced ? 2 : 1))
        }
        let calls = Int(fault_vfs_calls())
        fault_vfs_arm(FAULT_NONE, 0, 0)
        #expect(await store.sessions.settle() == StoreHealth(), "call \(n)")
        #expect(try await store.sessions.verifyErasure() == [], "call \(n)")
        let isWaiting = try await !store.sessions.pending().isEmpty
        let names = try disk.fixture.names()
        #expect(names.contains("outbox.key") == isWaiting, "call \(n): \(names)")
        let isSignedIn = n % 2 == 1
        #expect(names.count { $0.hasPrefix("session-") } == (isSignedIn ? 2 : 0), "\(n): \(names)")
        return calls
      }
      if n > calls { break }
      n += 1
    }
    #expect(n > 10)
  }

  @Test func `a refresh costs two syncs`() async throws {
    let disk = try FaultingDisk()
    defer { disk.remove() }
    let store = try disk.fixture.open()
    try await store.sessions.install(1)
    try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
    try await store.sessions.commit(1, rotation: 1)
    fault_vfs_arm(FAULT_NONE, 0, 0)
    try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
    try await store.sessions.commit(1, rotation: 2)
    #expect(fault_vfs_syncs() == 2)
    try await store.sessions.append([
      EventRecord(
        sequence: 1, at: disk.fixture.configuration.clock(), kind: "refreshSucceeded",
        generation: Generation(1))
    ])
    #expect(fault_vfs_syncs() == 2)
    await store.sessions.close()
  }

  /// B120: held for longer than a write waits.
  @Test func `a database that another process holds is said to be busy, and later goes on`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      let holder = try HoldingReader(fixture.path("session.db"), writing: true)
      await #expect(throws: StoreError.busy) {
        try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
      }
      // The exchange has happened: the pair is safe in the slot.
      try await store.sessions.commit(1, rotation: 1)
      #expect(await store.sessions.settle() == StoreHealth(failure: .busy, isRescued: true))
      holder.close()
      #expect(await store.sessions.settle() == StoreHealth())
    }
    #expect(
      try await fixture.life { try await $0.sessions.loaded() }.refresh == Dummy.refresh(1))
  }

  @Test func `a full disk refuses the intent, and takes the logout`() async throws {
    let disk = try FaultingDisk()
    defer { disk.remove() }
    let store = try disk.fixture.open()
    try await store.sessions.install(1)
    fault_vfs_arm(FAULT_FULL, 1, 1)
    await #expect(throws: StoreError.full) {
      try await store.sessions.recordIntent(Dummy.intent(), permit: try Dummy.permit(1))
    }
    try await store.sessions.destroy(through: Generation(2), reason: "logout")
    #expect(await store.sessions.settle().unfinishedLogout != nil)
    fault_vfs_arm(FAULT_NONE, 0, 0)
    #expect(await store.sessions.settle() == StoreHealth())
    await store.sessions.close()
    #expect(Restored(try await disk.restart()) == .signedOut(2))
  }

  /// A disk that cannot be read says nothing of what is on it.
  @Test func `a store that cannot be read is not taken for a damaged one`() async throws {
    let disk = try FaultingDisk()
    defer { disk.remove() }
    try await disk.fixture.life { try await $0.sessions.install(1) }
    let store = try disk.fixture.open()
    // What the opening read is not enough any more: somebody else has written.
    try touch(disk.fixture)
    fault_vfs_arm(FAULT_READ, 0, 0)
    var failure: StoreError?
    do {
      _ = try await store.sessions.loaded()
    } catch let error as StoreError {
      failure = error
    }
    fault_vfs_arm(FAULT_NONE, 0, 0)
    guard case .failed = failure else {
      Issue.record("loaded: \(String(describing: failure))")
      return
    }
    #expect(try await store.sessions.loaded().refresh == Dummy.refresh(0))
    await store.sessions.close()
    #expect(try !disk.fixture.names().contains { $0.contains("damaged") })
  }
}
