import BrewlogAPI
import CLI
import DemoUpstream
import FoundationEssentials
import Glibc
import JSON
import Platform
import TestSupport
import Testing
import Varlink

/// Faults that are planted on a host, and what the doctor makes of them.
@Suite(.timeLimit(.minutes(1)))
struct DoctorCommandTests {
  private struct Host {
    let scratch: ScratchDirectory
    let upstream: DemoUpstream
    var settings: [String: String] = [:]

    init() throws {
      scratch = try ScratchDirectory()
      upstream = try DemoUpstream()
      try FileManager.default.createDirectory(
        atPath: scratch.path("state"), withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }

    /// The doctor's words, about a host whose daemon is at `socket`.
    func examine(socket: String, _ change: (inout Invocation) -> Void = { _ in }) throws
      -> Invocation.Outcome
    {
      let text = """
        [Upstream]
        BaseURL=\(settings["BaseURL"] ?? upstream.baseURL)
        [Store]
        Directory=\(scratch.path("state"))
        [Socket]
        Path=\(socket)
        \(settings["Group"].map { "Group=" + $0 } ?? "Mode=0600")
        \(settings["more"] ?? "")
        """
      #expect(
        FileManager.default.createFile(
          atPath: scratch.path("brewlogd.conf"), contents: Data(text.utf8)))
      var invocation = Invocation("doctor", "--config", scratch.path("brewlogd.conf"))
      invocation.isNow = true
      change(&invocation)
      return invocation.run()
    }
  }

  private static let answers: [APIMethod: Varlink.Answer] = [
    .health: .reply(Samples.health), .explain: .reply(Samples.explain),
    .canI: .reply(CanIReply(allowed: true, rule: "you are root")),
  ]

  @Test func `a host where all is well`() async throws {
    let host = try Host()
    let daemon = try await ScriptedDaemon(Self.answers)
    let outcome = try host.examine(socket: daemon.path)
    #expect(outcome.exit == .done, "\(outcome.out)")
    for expected in [
      "ok     configuration", "ok     socket", "ok     daemon", "ok     rights", "ok     session",
      "ok     store", "ok     dns", "ok     upstream", "ok     clock", "Nothing is wrong",
    ] {
      #expect(outcome.out.contains(expected), "\(expected) in \(outcome.out)")
    }
    await daemon.stop()
  }

  @Test func `the socket is missing`() throws {
    let host = try Host()
    let outcome = try host.examine(socket: host.scratch.path("none.sock"))
    #expect(outcome.exit == .failed)
    #expect(outcome.out.contains("none.sock is not there: brewlogd does not run"))
    #expect(outcome.out.contains("To do: Start it: brewlogd --config"))
    // One fault is found once, and a daemon that no unit runs is not started by one.
    #expect(outcome.out.contains("-      daemon"))
    #expect(outcome.out.contains("1 thing of"), "\(outcome.out)")
    #expect(!outcome.out.contains("systemctl"))
  }

  @Test func `nobody listens at the socket any more`() throws {
    let host = try Host()
    let path = host.scratch.path("left.sock")
    #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
    let outcome = try host.examine(socket: path)
    #expect(outcome.out.contains("WRONG  daemon"))
    #expect(outcome.out.contains("To do: Start it: brewlogd --config"))
    #expect(!outcome.out.contains("systemctl"))
    #expect(
      outcome.out.contains("connection refused") || outcome.out.contains("Connection refused"))
  }

  @Test func `the group is a wrong one, or none at all`() async throws {
    var host = try Host()
    let daemon = try await ScriptedDaemon(Self.answers)
    host.settings["Group"] = "daemon"
    let wrong = try host.examine(socket: daemon.path)
    #expect(wrong.exit == .failed)
    #expect(wrong.out.contains("but Group= is daemon"))
    host.settings["Group"] = "no-such-group-here"
    let none = try host.examine(socket: daemon.path)
    #expect(none.out.contains("\"no-such-group-here\" of Group= does not exist"))
    #expect(none.out.contains("groupadd"))
    await daemon.stop()
  }

  @Test func `the clock is off`() async throws {
    let host = try Host()
    let daemon = try await ScriptedDaemon(Self.answers)
    let outcome = try host.examine(socket: daemon.path) { $0.isNow = false }
    #expect(outcome.exit == .failed)
    #expect(outcome.out.contains("WRONG  clock"))
    #expect(outcome.out.contains("timedatectl"))
    await daemon.stop()
  }

  @Test func `the upstream is down, or its name is none`() async throws {
    var host = try Host()
    let daemon = try await ScriptedDaemon(Self.answers)
    host.upstream.close()
    let down = try host.examine(socket: daemon.path)
    #expect(down.exit == .failed)
    #expect(down.out.contains("takes no connection"))
    host.settings["BaseURL"] = "https://no-such-host.invalid"
    let unknown = try host.examine(socket: daemon.path)
    #expect(unknown.out.contains("no-such-host.invalid cannot be resolved"))
    await daemon.stop()
  }

  @Test func `the store's key is missing, and its directory open`() throws {
    let host = try Host()
    let state = host.scratch.path("state")
    #expect(FileManager.default.createFile(atPath: state + "/session.db", contents: Data()))
    let outcome = try host.examine(socket: host.scratch.path("none.sock"))
    #expect(outcome.out.contains("but not its key"))
    #expect(
      FileManager.default.createFile(atPath: state + "/master.key", contents: Data("short".utf8)))
    let short = try host.examine(socket: host.scratch.path("none.sock"))
    #expect(short.out.contains("holds 5 bytes, which is no key"))
    chmod(state, 0o755)
    let open = try host.examine(socket: host.scratch.path("none.sock"))
    #expect(open.out.contains("is open to others (mode 0755)"))
  }

  @Test func `a configuration that is wrong is shown with file and line`() throws {
    var host = try Host()
    host.settings["more"] = "Mood=good"
    let outcome = try host.examine(socket: host.scratch.path("none.sock"))
    #expect(outcome.out.contains("brewlogd.conf:8"))
    #expect(outcome.out.contains("Mood"))
    // Where the socket is cannot be known, and a start would fail.
    #expect(outcome.out.contains("-      socket"), "\(outcome.out)")
    #expect(!outcome.out.contains("Start it"))
    #expect(outcome.out.contains("--check-config"))
  }

  @Test func `a daemon that is ill is asked what it lacks`() async throws {
    let host = try Host()
    var answers = Self.answers
    answers[.health] = .reply(
      HealthReply(
        ready: false,
        checks: [
          Check(name: "store", ok: false, detail: "the disk is full"),
          Check(name: "session", ok: false, detail: "signed out"),
        ], uptimeSeconds: 5))
    answers[.explain] = .reply(
      ExplainReply(
        sentence: "Nobody is signed in.", nextStep: "Sign in: brewlogctl login",
        evidence: []))
    let daemon = try await ScriptedDaemon(answers)
    let outcome = try host.examine(socket: daemon.path)
    #expect(outcome.exit == .failed)
    #expect(outcome.out.contains("store: the disk is full"))
    #expect(outcome.out.contains("To do: Sign in: brewlogctl login"))
    // What is wrong with the session is said once, beside the next step.
    #expect(!outcome.out.contains("session: signed out"), "\(outcome.out)")
    await daemon.stop()
  }

  @Test func `JSON has each finding`() throws {
    let host = try Host()
    let outcome = try host.examine(socket: host.scratch.path("none.sock")) {
      $0.arguments.append("--json")
    }
    struct Report: Decodable {
      struct Finding: Decodable {
        var check: String
        var verdict: String
        var detail: String
        var remedy: String?
      }
      var healthy: Bool
      var findings: [Finding]
    }
    let report = try JSONText.decode(Report.self, from: outcome.out.utf8)
    #expect(!report.healthy)
    #expect(report.findings.contains { $0.check == "socket" && $0.verdict == "wrong" })
    #expect(report.findings.allSatisfy { $0.verdict != "wrong" || $0.remedy != nil })
  }

  @Test func `the self-test passes with the programs that were built`() throws {
    let child = try ChildProcess.start(
      Programs.path("brewlogctl"), ["selftest"], environment: Programs.environment)
    #expect(child.wait() == .exited(0), "\(child.standardOutput)\(child.standardError)")
    for step in ["rotation", "crash", "outage", "logout race", "All of it holds"] {
      #expect(child.standardOutput.contains(step))
    }
  }
}
