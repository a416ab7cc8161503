import FoundationEssentials
import Platform
import Session
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OpeningTests {
  @Test func `a second daemon is refused with the first one's pid`() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.open()
    let error = #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
    #expect(error?.exitCode == 75)
    #expect(
      error
        == .heldByAnother(
          path: fixture.directory, pid: ProcessInfo.processInfo.processIdentifier))
    await store.sessions.close()
  }

  @Test func `a missing master key is refused, and nothing is touched`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let key = try fixture.contents("master.key")
    try fixture.remove("master.key")
    let before = try snapshot(fixture)
    let error = #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
    #expect(error?.exitCode == 66)
    #expect(try snapshot(fixture) == before)
    try fixture.put(key, "master.key")
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 1)
  }

  @Test func `a wrong master key is refused, and nothing is touched`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let key = try fixture.contents("master.key")
    try fixture.put([UInt8](repeating: 5, count: 32), "master.key")
    let before = try snapshot(fixture)
    let error = #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
    #expect(error?.exitCode == 66)
    #expect(try snapshot(fixture) == before)
    try fixture.put(key, "master.key")
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 1)
  }

  @Test func `the credential wins over the key file, and no key file is made beside it`()
    async throws
  {
    var fixture = try StoreFixture()
    fixture.configuration.credentialsDirectory = fixture.scratch.path
    try Data([UInt8](repeating: 8, count: 32)).write(
      to: URL(fileURLWithPath: fixture.scratch.path("brewlog.key")))
    try await fixture.life { store in
      try await store.sessions.install(1)
      #expect(try await store.sessions.inspect().encryption.contains("credential brewlog.key"))
    }
    #expect(try !fixture.names().contains("master.key"))
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 1)
  }

  @Test func `modes that are too wide are narrowed, with warnings`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    for name in ["", "session.db", "master.key"] {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: fixture.path(name))
    }
    let store = try fixture.open()
    #expect(store.warnings.count == 3)
    #expect(try mode(of: fixture.path("session.db")) & 0o077 == 0)
    #expect(try mode(of: fixture.directory) == 0o700)
    #expect(try await store.sessions.loaded().generation == 1)
    await store.sessions.close()
  }

  private func snapshot(_ fixture: StoreFixture) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try fixture.names() { files[name] = try fixture.contents(name) }
    return files
  }
}
