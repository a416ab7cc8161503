import BrewlogAPI
import DemoUpstream
import FoundationEssentials
import Glibc
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// Who may call what, as the kernel knows who calls. Root alone can be several users.
  @Suite(.timeLimit(.minutes(2)), .enabled(if: geteuid() == 0, "only root can be several users"))
  struct AccessTests {
    private static let sections = [
      "Socket": ["Mode=0666"], "Access": ["Read=nobody", "Control=root", "RequestsPerMinute=2"],
    ]

    @Test func `a user of Read= gets tips and may not end the session`() async throws {
      try await Stage.run(DemoOptions(), Self.sections) { stage in
        try stage.signIn()
        #expect(try asNobody(stage, "tip").wait() == .exited(0))
        #expect(try asNobody(stage, "status").wait() == .exited(0))
        for command in ["logout", "session", "refresh"] {
          let child = try asNobody(stage, command)
          #expect(child.wait() == .exited(5), "\(command)")
          #expect(child.standardError.contains("can-i"))
        }
        let canI = try asNobody(stage, "can-i", "org.brewlog.Session.Logout")
        #expect(canI.wait() == .exited(1))
        #expect(canI.standardOutput.contains("Control="))
        #expect(try stage.daemon.status().session.state == .signedIn)
        #expect(stage.upstream.requests(Stage.refreshPath) == 0)
      }
    }

    @Test func `a user of Read= has a share of upstream requests and root has no bound`()
      async throws
    {
      try await Stage.run(DemoOptions(), Self.sections) { stage in
        try stage.signIn()
        let ids = Stage.tipIDs
        #expect(try asNobody(stage, "tip", ids[0]).wait() == .exited(0))
        #expect(try asNobody(stage, "tip", ids[1]).wait() == .exited(0))
        let refused = try asNobody(stage, "tip", ids[2])
        #expect(refused.wait() == .exited(1))
        #expect(refused.standardError.contains("share"))
        #expect(stage.upstream.requests(Stage.tipPath(ids[2])) == 0)
        // What is cached costs nothing.
        #expect(try asNobody(stage, "tip", ids[0]).wait() == .exited(0))
        for id in ids {
          #expect(try stage.daemon.call(.get, ["id": .string(id)], as: Entry.self).tip.id == id)
        }
      }
    }

    @Test func `the socket's mode keeps others out`() async throws {
      try await Stage.run(DemoOptions(), ["Socket": ["Mode=0600"]]) { stage in
        let child = try asNobody(stage, "status")
        #expect(child.wait() == .exited(5))
        #expect(child.standardError.contains("may not connect"))
      }
    }

    /// `brewlogctl` as the user nobody.
    private func asNobody(_ stage: Stage, _ arguments: String...) throws -> ChildProcess {
      let tool = "/usr/bin/setpriv"
      guard FileManager.default.isExecutableFile(atPath: tool) else {
        try Test.cancel("there is no \(tool) (Debian: util-linux)")
      }
      let client = try stage.daemon.clientForOthers()
      let child = try ChildProcess.start(
        tool,
        [
          "--reuid=65534", "--regid=65534", "--clear-groups", client, "--socket",
          stage.daemon.socket,
        ] + arguments, environment: Programs.environment)
      _ = child.wait()
      return child
    }
  }
}
