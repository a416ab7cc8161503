import BrewlogAPI
import DemoUpstream
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// How the daemon ends, and with which code.
  @Suite(.timeLimit(.minutes(2)))
  struct StopTests {
    @Test func `B20: a refresh in flight at SIGTERM is finished and stored`() async throws {
      try await Stage.run { stage in
        let (upstream, daemon) = (stage.upstream, stage.daemon)
        let client = try stage.holdingRefresh(behind: .refresh)
        defer { withExtendedLifetime(client) {} }
        let process = try daemon.process
        process.send(SIGTERM)
        try #require(process.waitForOutput("stopping", onError: true))
        upstream.release("refresh")
        #expect(process.wait() == .exited(0))
        daemon.end()

        upstream.expireAccessTokens()
        try daemon.start()
        #expect(try daemon.status().session.rotations == 1)
        #expect(try daemon.today().provenance.source == .network)
        #expect(stage.refreshTokensSent == ["refresh-0", "refresh-1"])
      }
    }

    @Test func `idle clients and a hanging upstream do not hold up a stop`() async throws {
      try await Stage.run { stage in
        let daemon = stage.daemon
        stage.upstream.script(.get, Stage.todayPath, [.hold("for ever")])
        try stage.signIn()
        let idle = try (0..<3).map { _ in try stage.connect() }
        let watcher = try stage.connect()
        try watcher.send(.watch, more: true)
        _ = try watcher.receive().decoded(as: WatchReply.self)
        let waiting = try stage.connect()
        try waiting.send(.today)
        try #require(stage.upstream.waitForHold("for ever"))
        let process = try daemon.process
        process.send(SIGTERM)
        #expect(process.wait() == .exited(0))
        for client in idle { #expect(try client.receive() == .end) }
        let outcome = try waiting.receive()
        switch outcome {
        case .end, .failure(.unavailable): break
        default: Issue.record("neither an error nor the end: \(outcome)")
        }
        switch try watcher.receive() {
        case .end, .failure: break
        case .reply:
          // The last event says that the daemon stops.
          let last = try watcher.receive()
          guard case .end = last else {
            Issue.record("the watch goes on: \(last)")
            break
          }
        }
        daemon.end()
        #expect(access(daemon.socket, F_OK) != 0, "the socket is removed at a clean stop")
      }
    }

    @Test
    func `a clean stop and a start lose neither session nor tips`()
      async throws
    {
      try await Stage.run { stage in
        let daemon = stage.daemon
        try stage.signIn()
        for _ in 0..<3 {
          #expect(daemon.stop() == .exited(0))
          try daemon.start()
          #expect(try daemon.today().tip.id.isEmpty == false)
        }
        #expect(stage.upstream.requests(Stage.todayPath) == 1, "the tip is served from the cache")
      }
    }

    @Test(arguments: [
      (text: "[Upstream]\nBaseURL=http://127.0.0.1:1\nTodayPth=/x\n", line: 3, hint: "TodayPath"),
      (
        text: "[Upstream]\nBaseURL=http://127.0.0.1:1\n[Retri]\nBackoff=1s\n", line: 3,
        hint: "Retry"
      ),
      (
        text: "[Upstream]\nBaseURL=http://127.0.0.1:1\nRequestTimeout=soon\n", line: 3, hint: "soon"
      ),
    ])
    func `a faulty configuration is refused with its file and line`(
      fault: (text: String, line: Int, hint: String)
    ) async throws {
      try await Stage.run(started: false) { stage in
        try stage.daemon.configure(fault.text)
        let child = try stage.daemon.spawn()
        #expect(child.wait() == .exited(78))
        let place = "\(stage.daemon.configurationFile):\(fault.line)"
        #expect(child.standardError.contains(place), "\(child.standardError)")
        #expect(child.standardError.contains(fault.hint), "\(child.standardError)")
        #expect(child.standardOutput.isEmpty)
      }
    }

    @Test func `a second daemon on the same state is refused and told who holds it`() async throws {
      try await Stage.run { stage in
        let second = try stage.daemon.spawn()
        #expect(second.wait() == .exited(75))
        let holder = try stage.daemon.process.pid
        #expect(second.standardError.contains(String(holder)), "\(second.standardError)")
        // The first one has not noticed.
        #expect(try stage.daemon.status().session.state == .signedOut)
      }
    }

    @Test(arguments: [["--no-such-option"], ["--instance"], ["--instance", "../x"], ["operand"]])
    func `a command line that makes no sense is refused`(arguments: [String]) throws {
      let child = try ChildProcess.start(
        Programs.path("brewlogd"), arguments, environment: Programs.environment)
      #expect(child.wait() == .exited(64))
      #expect(child.standardError.hasPrefix("brewlogd: "))
    }

    @Test func `help, version and a check of the configuration need no daemon`() async throws {
      try await Stage.run(started: false) { stage in
        for (arguments, text) in [
          (["--help"], "usage: brewlogd"), (["--version"], "brewlogd "),
          (["--check-config"], "valid"),
        ] {
          let child = try stage.daemon.spawn(arguments)
          #expect(child.wait() == .exited(0))
          #expect(child.standardOutput.contains(text))
          #expect(child.standardError.isEmpty)
        }
        #expect(access(stage.daemon.stateDirectory, F_OK) != 0, "nothing was made")
      }
    }
  }
}
