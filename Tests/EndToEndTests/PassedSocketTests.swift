import Glibc
import Platform
import TestSupport
import Testing

extension EndToEnd {
  /// What systemd hands over at descriptor 3, sd_listen_fds(3).
  @Suite(.timeLimit(.minutes(2)))
  struct PassedSocketTests {
    /// The daemon as a service manager starts it: LISTEN_PID is its own, or another's.
    private func start(
      _ daemon: DaemonFixture, passing raw: Int32, count: Int = 1, pid: String = "$$"
    ) throws -> ChildProcess {
      let program = try Programs.path("brewlogd")
      return try ChildProcess.start(
        "/bin/sh",
        ["-c", "LISTEN_PID=\(pid) exec \"$0\" --config \"$1\"", program, daemon.configurationFile],
        environment: Programs.environment.merging(
          ["LISTEN_FDS": "\(count)", "LISTEN_FDNAMES": "varlink"]) { $1 },
        descriptors: [3: raw])
    }

    @Test func `B177: a listening socket is served, and its file is not the daemon's to remove`()
      async throws
    {
      try await Stage.run(started: false) { stage in
        let daemon = stage.daemon
        let path = daemon.directory + "/passed"
        var bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 4)
        let listener = bound.takeListener()?.release() ?? -1
        defer { close(listener) }
        let process = try start(daemon, passing: listener)
        defer { _ = process.terminate(SIGKILL) }
        let serves = process.waitForOutput(" serves ", onError: true)
        #expect(serves)
        let answers = UnixSocket.answers(at: path)
        #expect(answers)
        #expect(process.terminate(SIGTERM) == .exited(0))
        #expect(access(path, F_OK) == 0)
      }
    }

    @Test func `B175: what is meant for another process is ignored`() async throws {
      try await Stage.run(started: false) { stage in
        let daemon = stage.daemon
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let process = try start(daemon, passing: file, pid: "1")
        defer { _ = process.terminate(SIGKILL) }
        let serves = process.waitForOutput(" serves \(daemon.socket)", onError: true)
        #expect(serves)
      }
    }

    @Test(arguments: ["internet", "datagram", "connected", "file"])
    func `B176: what is no listening Unix stream socket is refused by one line`(
      kind: String
    ) async throws {
      try await Stage.run(started: false) { stage in
        let daemon = stage.daemon
        let raw = Self.descriptor(kind)
        defer { close(raw) }
        let process = try start(daemon, passing: raw)
        #expect(process.wait() == .exited(78))
        let lines = process.standardError.split(separator: "\n")
        #expect(lines.count == 1, "\(process.standardError)")
      }
    }

    private static func descriptor(_ kind: String) -> Int32 {
      switch kind {
      case "internet": return socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      case "datagram": return socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      case "connected":
        var pair: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
        return pair[0]
      default: return open("/dev/null", O_RDONLY | O_CLOEXEC)
      }
    }
  }
}

extension UnixSocket {
  fileprivate static func answers(at path: String) -> Bool {
    do throws(SocketError) {
      _ = try connect(to: path)
      return true
    } catch {
      return false
    }
  }
}
