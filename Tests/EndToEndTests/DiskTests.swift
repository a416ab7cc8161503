import BrewlogAPI
import DemoUpstream
import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// Real file systems that are full, or have turned read-only under the running daemon.
  @Suite(.timeLimit(.minutes(2)))
  struct DiskTests {
    @Test func `a logout on a full tmpfs is done, and the restart is signed out`() async throws {
      try await Stage.run(started: false) { stage in
        let daemon = stage.daemon
        let mount = try Mount(at: daemon.stateDirectory)
        try mount.memory(size: "1m")
        try daemon.start()
        let session = try stage.signIn()
        try mount.fill()
        let logout = try daemon.call(.logout, as: LogoutReply.self)
        #expect(logout.generation > session.generation)
        daemon.crash()
        // Still full.
        try daemon.start()
        try expectSignedOut(daemon, past: session.generation)
        mount.makeRoom()
        try daemon.wait("it heals by itself", asking: { try daemon.verifyErasure() }) { $0.clean }
        daemon.end()
        mount.unmount()
      }
    }

    @Test func `B122: a session on a full tmpfs goes on, spends no token, and heals`() async throws
    {
      try await Stage.run(DemoOptions(), started: false) { stage in
        let daemon = stage.daemon
        let mount = try Mount(at: daemon.stateDirectory)
        try mount.memory(size: "1m")
        try daemon.start()
        try stage.signIn()
        try mount.fill()
        #expect(try daemon.today().provenance.source == .network)
        // What was freed in the databases takes a few writes; then there is no more.
        var failure: APIError?
        for _ in 0..<50 where failure == nil { failure = try daemon.outcome(.refresh).error }
        guard case .storeFailed = failure else {
          Issue.record("not StoreFailed")
          return
        }
        let rotations = try daemon.status().session.rotations
        #expect(stage.refreshTokensSent.count == rotations, "I5")
        daemon.crash()
        try daemon.start()
        #expect(try daemon.status().session.state == .signedIn)
        #expect(try daemon.status().session.rotations == rotations)
        mount.makeRoom()
        try daemon.wait("it heals by itself", asking: { try daemon.outcome(.refresh) }) {
          $0.error == nil
        }
        #expect(stage.refreshTokensSent.last == "refresh-\(rotations)")
        daemon.end()
        mount.unmount()
      }
    }

    @Test
    func `a logout on a disk that turned read-only is said not to last, and lasts all the same`()
      async throws
    {
      try await Stage.run(started: false) { stage in
        let daemon = stage.daemon
        let mount = try Mount(at: daemon.stateDirectory)
        try mount.disk()
        try daemon.start()
        let session = try stage.signIn()
        try mount.abort()
        guard case .logoutNotDurable = try daemon.outcome(.logout).error else {
          Issue.record("not LogoutNotDurable")
          return
        }
        #expect(try daemon.status().session.state == .signedOut)
        #expect(try daemon.status().session.durable == false)
        daemon.crash()
        // On the disk as it is now there is no start, and no session either.
        let refused = try daemon.spawn()
        #expect(refused.wait() == .exited(73))
        #expect(refused.standardError.contains(daemon.stateDirectory))
        mount.unmount()
        try mount.disk()
        #expect(try keys(daemon).count == 1, "the key is still on the disk")
        try daemon.start()
        try expectSignedOut(daemon, past: session.generation)
        #expect(try keys(daemon).isEmpty, "the destruction has followed")
        #expect(try daemon.verifyErasure().clean)
        daemon.end()
        mount.unmount()
      }
    }

    /// Root is not held up by a mode: it takes a file system that is read-only.
    @Test func `B125: a state directory on a read-only mount is refused by name, untouched`()
      async throws
    {
      try await Stage.run(started: false) { stage in
        let daemon = stage.daemon
        let mount = try Mount(at: daemon.stateDirectory)
        try mount.disk()
        try daemon.start()
        try stage.signIn()
        daemon.stop()
        try #require(try keys(daemon).count == 1)
        let before = FileManager.default.contents(atPath: daemon.stateDirectory + "/session.db")
        try mount.abort()
        let refused = try daemon.spawn()
        #expect(refused.wait() == .exited(73))
        #expect(refused.standardError.contains(daemon.stateDirectory), "\(refused.standardError)")
        #expect(refused.standardError.contains("read-only file system"))
        #expect(
          FileManager.default.contents(atPath: daemon.stateDirectory + "/session.db") == before)
        mount.unmount()
        try mount.disk()
        try daemon.start()
        #expect(try daemon.status().session.state == .signedIn)
        daemon.end()
        mount.unmount()
      }
    }

    // MARK: Parts

    private func keys(_ daemon: DaemonFixture) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: daemon.stateDirectory)
        .filter { $0.hasPrefix("session-") && $0.hasSuffix(".key") }
    }

    private func expectSignedOut(_ daemon: DaemonFixture, past generation: Int) throws {
      let inspected = try daemon.inspect()
      #expect(inspected.inMemory.state == .signedOut)
      #expect(inspected.inMemory.generation > generation)
      #expect(inspected.persisted.refreshTokenFingerprint == nil)
    }
  }
}

extension DaemonFixture {
  func verifyErasure() throws -> VerifyErasureReply {
    try call(.verifyErasure, as: VerifyErasureReply.self)
  }
}
