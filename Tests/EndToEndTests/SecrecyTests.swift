import BrewlogAPI
import DemoUpstream
import FoundationEssentials
import Glibc
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// What others could see of the daemon (I10), and what it costs them.
  @Suite(.timeLimit(.minutes(2)))
  struct SecrecyTests {
    /// B188, B191: at the most verbose level, and whatever goes wrong.
    @Test func `no token is in log, arguments, environment, replies or files`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        try stage.signIn()
        _ = try daemon.today()
        _ = try daemon.call(.refresh, as: SessionReply.self)
        upstream.script(
          .post, Stage.refreshPath, [.json(#"{"error":"dummy-access-1"}"#, status: 500)])
        _ = try daemon.outcome(.refresh)
        var seen = [
          "log": Array(daemon.log.utf8), "status": text(try daemon.outcome(.status)),
          "inspect": text(try daemon.outcome(.inspect)),
          "configuration": text(try daemon.outcome(.configuration)),
          "health": text(try daemon.outcome(.health)),
        ]
        let pid = try daemon.process.pid
        for name in ["cmdline", "environ"] {
          // The kernel shows these of a daemon that may not be dumped to root alone.
          seen[name] = contents("/proc/\(pid)/\(name)") ?? []
        }
        seen.merge(try files(daemon)) { first, _ in first }
        try #require(seen.count > 9, "\(seen.keys)")
        expectNoToken(in: seen)

        _ = try daemon.call(.logout, as: LogoutReply.self)
        #expect(daemon.stop() == .exited(0))
        expectNoToken(in: try files(daemon))
        expectNoToken(in: ["log": Array(daemon.log.utf8)])
      }
    }

    /// B128: whatever the mask of whoever started it.
    @Test func `the state directory and its files are the daemon's alone`() async throws {
      try await Stage.run { stage in
        try stage.signIn()
        _ = try stage.daemon.today()
        var info = stat()
        #expect(stat(stage.daemon.stateDirectory, &info) == 0)
        #expect(info.st_mode & 0o7777 == 0o700)
        for path in try files(stage.daemon).keys {
          #expect(stat(path, &info) == 0)
          #expect(info.st_mode & 0o077 == 0, "\(path)")
        }
        #expect(stat(stage.daemon.socket, &info) == 0)
        #expect(info.st_mode & 0o7777 == 0o660)
      }
    }

    @Test func `B192: a daemon that is aborted with a session leaves no core`() async throws {
      try await Stage.run { stage in
        let process = try stage.daemon.process
        try stage.signIn()
        let limits = String(decoding: contents("/proc/\(process.pid)/limits") ?? [], as: UTF8.self)
        let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        let words = core?.split(separator: " ").suffix(3) ?? []
        #expect(words.prefix(2).elementsEqual(["0", "0"]), "\(limits)")
        process.send(SIGABRT)
        #expect(process.wait() == .signalled(SIGABRT), "the crash itself is seen")
        stage.daemon.end()
        try stage.daemon.start()
        #expect(try stage.daemon.status().session.state == .signedIn)
      }
    }

    @Test func `the daemon runs on its loop and its store's thread alone`() async throws {
      try await Stage.run(Stage.expired) { stage in
        let daemon = stage.daemon
        stage.upstream.script(.post, Stage.refreshPath, [.hold("refresh")])
        try stage.signIn()
        let clients = try stage.ask(for: Stage.tipIDs)
        try #require(stage.upstream.waitForHold("refresh"))
        #expect(try threads(daemon) <= 3, "while many wait")
        stage.upstream.release("refresh")
        for client in clients { _ = try client.receive().decoded(as: Entry.self) }
        _ = try daemon.call(.rate, ["id": "bloom", "rating": 3], as: EmptyReply.self)
        _ = try daemon.inspect()
        _ = try daemon.call(.logout, as: LogoutReply.self)
        #expect(try threads(daemon) <= 3, "after traffic")
      }
    }

    // MARK: Parts

    private func threads(_ daemon: DaemonFixture) throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.process.pid)/task").count
    }

    private func text(_ outcome: Connection.Outcome) -> [UInt8] { Array("\(outcome)".utf8) }

    /// Every file of the state and runtime directories, by its path.
    private func files(_ daemon: DaemonFixture) throws -> [String: [UInt8]] {
      var found: [String: [UInt8]] = [:]
      let runtime = daemon.socket.split(separator: "/").dropLast().joined(separator: "/")
      for directory in [daemon.stateDirectory, "/" + runtime] {
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
          let path = directory + "/" + name
          if let bytes = contents(path) { found[path] = bytes }
        }
      }
      return found
    }

    private func contents(_ path: String) -> [UInt8]? {
      FileManager.default.contents(atPath: path).map { [UInt8]($0) }
    }

    private func expectNoToken(
      in seen: [String: [UInt8]], _ location: SourceLocation = #_sourceLocation
    ) {
      let search = TokenSearch((0...3).flatMap { ["dummy-access-\($0)", "dummy-refresh-\($0)"] })
      for (place, bytes) in seen {
        #expect(search.find(in: bytes) == nil, "\(place)", sourceLocation: location)
      }
    }
  }
}
