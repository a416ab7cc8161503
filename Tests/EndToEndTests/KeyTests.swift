import BrewlogAPI
import FoundationEssentials
import TestSupport
import Testing

extension EndToEnd {
  /// `brewlogd --rekey`: another master key, the same session.
  @Suite(.timeLimit(.minutes(2)))
  struct KeyTests {
    @Test func `a store that is given a new key keeps its session, and the old key opens nothing`()
      async throws
    {
      try await Stage.run { stage in
        let daemon = stage.daemon
        try stage.signIn()
        let before = try daemon.inspect()
        #expect(daemon.stop() == .exited(0))
        let path = daemon.stateDirectory + "/master.key"
        let old = try #require(FileManager.default.contents(atPath: path))

        let rekey = try daemon.spawn(["--rekey"])
        #expect(rekey.wait() == .exited(0))
        #expect(rekey.standardOutput.contains("opens by a new key"), "\(rekey.standardError)")
        let new = try #require(FileManager.default.contents(atPath: path))
        #expect(new != old)

        try daemon.start()
        let after = try daemon.inspect()
        #expect(after.consistent)
        #expect(
          after.persisted.refreshTokenFingerprint == before.persisted.refreshTokenFingerprint)
        #expect(daemon.stop() == .exited(0))

        #expect(FileManager.default.createFile(atPath: path, contents: old))
        let refused = try daemon.spawn()
        #expect(refused.wait() == .exited(66))
      }
    }

    @Test func `a store whose master key is lost opens by a recovery key, for a rekey`()
      async throws
    {
      try await Stage.run { stage in
        let daemon = stage.daemon
        try stage.signIn()
        #expect(daemon.stop() == .exited(0))
        let path = daemon.directory + "/recovery-key"
        let added = try daemon.spawn(["--add-recovery-key", path])
        #expect(added.wait() == .exited(0))
        #expect(added.standardOutput.contains(path), "\(added.standardError)")
        let key = try #require(FileManager.default.contents(atPath: path))
        #expect(!added.standardOutput.contains(String(decoding: key, as: UTF8.self)))

        try FileManager.default.removeItem(atPath: daemon.stateDirectory + "/master.key")
        let refused = try daemon.spawn()
        #expect(refused.wait() == .exited(66))
        let rekey = try daemon.spawn(["--rekey", "--recovery-key", path])
        #expect(rekey.wait() == .exited(0), "\(rekey.standardError)")
        #expect(rekey.standardOutput.contains("no longer open it: 1"))
        try daemon.start()
        #expect(try daemon.status().session.state == .signedIn)
        #expect(try daemon.today().provenance.source == .network)
      }
    }

    @Test func `a store that a daemon holds keeps its key`() async throws {
      try await Stage.run { stage in
        let daemon = stage.daemon
        try stage.signIn()
        let path = daemon.stateDirectory + "/master.key"
        let old = FileManager.default.contents(atPath: path)
        let rekey = try daemon.spawn(["--rekey"])
        #expect(rekey.wait() == .exited(75))
        #expect(rekey.standardOutput.isEmpty)
        #expect(FileManager.default.contents(atPath: path) == old)
        #expect(try daemon.status().session.state == .signedIn)
      }
    }
  }
}
