import FoundationEssentials
import Glibc
import Session
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct KeyTests {
  @Test func `after a rekey the session is there, and the old key opens nothing`() async throws {
    let fixture = try StoreFixture()
    let fingerprint = try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.add(try Dummy.record(9))
      return try await store.sessions.inspect().refreshToken
    }
    let old = try fixture.contents("master.key")
    let oldKeyring = try fixture.contents("keyring")
    _ = try StoreKeys.rekey(fixture.configuration)
    #expect(try fixture.contents("master.key") != old)
    try await fixture.life { store in
      let loaded = try await store.sessions.loaded()
      #expect(loaded.refresh == Dummy.refresh(0))
      #expect(try await store.sessions.inspect().refreshToken == fingerprint)
      #expect(try await store.sessions.pending().count == 1)
      #expect(try await store.sessions.verifyErasure() == [])
    }
    #expect(try !fixture.names().contains { $0.hasSuffix(".new") })
    let new = try fixture.contents("master.key")
    try fixture.put(old, "master.key")
    #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
    // Not even with the keyring of its time: the session's key is sealed under another store key.
    let keyring = try fixture.contents("keyring")
    try fixture.put(oldKeyring, "keyring")
    let key = try fixture.contents(try fixture.sessionKeys()[0])
    let name = try fixture.sessionKeys()[0]
    let loaded = try await fixture.life { try await $0.sessions.loaded() }
    #expect(loaded.facts == nil)
    try fixture.put(new, "master.key")
    try fixture.put(keyring, "keyring")
    try fixture.put(key, name)
  }

  @Test func `a credential takes the key file's place by a rekey`() async throws {
    var fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    try Data([UInt8](repeating: 8, count: 32)).write(
      to: URL(fileURLWithPath: fixture.scratch.path("brewlog.key")))
    fixture.configuration.credentialsDirectory = fixture.scratch.path
    #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
    let report = try StoreKeys.rekey(fixture.configuration)
    #expect(report.source == "the credential brewlog.key")
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 1)
  }

  @Test func `a recovery key opens the store whose master key is lost`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let path = fixture.scratch.path("recovery")
    #expect(try StoreKeys.addRecoveryKey(fixture.configuration, to: path) == [])
    #expect(try mode(of: path) == 0o600)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.count == 71)
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 1)
    try fixture.remove("master.key")
    #expect(throws: StoreOpenError.self) { _ = try fixture.open() }
    // As somebody has copied it.
    let copy = fixture.scratch.path("copy")
    try Data((text.uppercased().replacing("-", with: " ") + "\n").utf8).write(
      to: URL(fileURLWithPath: copy))
    chmod(copy, 0o600)
    let report = try StoreKeys.rekey(fixture.configuration, recoveryKeyFile: copy)
    #expect(report.revokedRecoveryKeys == 1 && report.warnings == [])
    #expect(
      try await fixture.life { try await $0.sessions.loaded() }.refresh == Dummy.refresh(0))
    try fixture.remove("master.key")
    #expect(throws: StoreOpenError.self) {
      _ = try StoreKeys.rekey(fixture.configuration, recoveryKeyFile: path)
    }
  }

  @Test func `a recovery key never takes a file's place, and none is made without one`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let keyring = try fixture.contents("keyring")
    let path = fixture.scratch.path("recovery")
    try Data("something else".utf8).write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: StoreOpenError.self) {
      _ = try StoreKeys.addRecoveryKey(fixture.configuration, to: path)
    }
    #expect(error?.exitCode == 73)
    #expect(try fixture.contents("keyring") == keyring)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "something else")
  }

  @Test(arguments: ["", "01234567", "no key at all, but long enough", nil])
  func `a file that holds no recovery key is said to hold none`(text: String?) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    try fixture.remove("master.key")
    let path = fixture.scratch.path("recovery")
    if let text { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
    let before = try fixture.contents("keyring")
    let error = try #require(
      #expect(throws: StoreOpenError.self) {
        _ = try StoreKeys.rekey(fixture.configuration, recoveryKeyFile: path)
      })
    #expect(error.exitCode == 66 && error.message.contains(path), "\(error.message)")
    #expect(try fixture.contents("keyring") == before)
  }

  @Test func `a rekey is refused while a daemon runs`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { _ in
      let error = #expect(throws: StoreOpenError.self) {
        _ = try StoreKeys.rekey(fixture.configuration)
      }
      #expect(error?.exitCode == 75)
    }
  }

  /// The states that a crash may leave, made from the files of before and after.
  @Test(arguments: [
    ["master.key.new"], ["master.key.new", "keyring"], ["keyring", "promoted"],
    ["keyring", "promoted", "session"],
  ])
  func `a rekey that was cut short is finished by the next start`(done: [String]) async throws {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let name = try fixture.sessionKeys()[0]
    let before = (try fixture.contents("master.key"), try fixture.contents(name))
    let steps = try RekeySteps.take(fixture)
    try fixture.put(before.0, "master.key")
    try fixture.put(before.1, name)
    try fixture.put(steps.oldKeyring, "keyring")
    if done.contains("master.key.new") { try fixture.put(steps.newKey, "master.key.new") }
    if done.contains("keyring") { try fixture.put(steps.transitional, "keyring") }
    if done.contains("promoted") { try fixture.put(steps.newKey, "master.key") }
    if done.contains("session") { try fixture.put(steps.newSessionKey, name) }
    let loaded = try await fixture.life { store in
      let loaded = try await store.sessions.loaded()
      #expect(try await store.sessions.verifyErasure() == [])
      return loaded
    }
    #expect(loaded.refresh == Dummy.refresh(0))
    #expect(try await fixture.life { try await $0.sessions.loaded() }.generation == 1)
  }
}
