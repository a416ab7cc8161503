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
        expectNoToken(in: seen, upstream)

        _ = try daemon.call(.logout, as: LogoutReply.self)
        #expect(daemon.stop() == .exited(0))
        expectNoToken(in: try files(daemon), upstream)
        expectNoToken(in: ["log": Array(daemon.log.utf8)], upstream)
      }
    }

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

    /// The dummies' common beginnings, as they are, and as others would write them.
    private func expectNoToken(
      in seen: [String: [UInt8]], _ upstream: DemoUpstream,
      _ location: SourceLocation = #_sourceLocation
    ) {
      for token in ["dummy-access-", "dummy-refresh-"] {
        let hex = token.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
          .joined()
        var forms = [token, hex, hex.uppercased(), String(token.reversed())]
        // Base64 has three phases, and its last characters depend on what follows.
        for phase in 0..<3 {
          let text = Data(Array(repeating: 0x20, count: phase) + Array(token.utf8))
            .base64EncodedString()
          forms.append(String(text.dropFirst(4).prefix(12)))
        }
        for (place, bytes) in seen {
          for form in forms {
            #expect(
              bytes.firstRange(of: Array(form.utf8)) == nil, "\(place) holds a token as \(form)",
              sourceLocation: location)
          }
        }
      }
    }
  }
}
