import BrewlogAPI
import CLI
import Glibc
import JSON
import Platform
import TestSupport
import Testing
import Varlink

/// `brewlogctl` itself on a terminal of its own: what keys do.
@Suite(.timeLimit(.minutes(1)))
struct TerminalTests {
  private static let environment = [
    "LANG": "C.UTF-8", "TERM": "xterm", "SWIFT_BACKTRACE": "enable=no",
  ]

  private static func attempt(startedBy uid: Int, uri: String? = nil) -> LoginAttempt {
    LoginAttempt(
      id: "7", flow: uri == nil ? .device : .browser,
      device: uri == nil
        ? DevicePrompt(verificationUri: "https://example.org/device", userCode: "WDJB-MJHT") : nil,
      authorizeUri: uri, expiresAt: "2999-01-01T00:00:00Z", startedByUid: uid)
  }

  /// A login that says what to do and then waits until the client leaves.
  private static func waiting(_ attempt: LoginAttempt, _ gate: Gate) -> Answer {
    .stream { stream in
      try? stream.send((try? JSONText.encode(LoginReply(attempt: attempt))) ?? [])
      await gate.wait()
      return .success((try? JSONText.encode(LoginReply(session: Samples.signedIn))) ?? [])
    }
  }

  private static func run(
    _ arguments: [String], _ daemon: ScriptedDaemon, rows: Int = 40
  ) throws -> TerminalProgram {
    try TerminalProgram(
      ["--socket", daemon.path] + arguments, rows: rows, environment: environment)
  }

  @Test func `Ctrl-C cancels the sign-in that one has begun`() async throws {
    let gate = Gate()
    let attempt = Self.attempt(startedBy: Int(getuid()))
    let daemon = try await ScriptedDaemon([
      .login: Self.waiting(attempt, gate), .cancelLogin: .reply(EmptyReply()),
    ])
    let program = try Self.run(["login"], daemon)
    #expect(program.terminal.waitForOutput("left"))
    #expect(program.terminal.output.contains("WDJB-MJHT"))
    // A QR code in half blocks.
    #expect(program.terminal.output.contains("▀"))
    program.terminal.type("\u{3}")
    #expect(program.wait() == 1)
    #expect(program.terminal.wholeOutput().contains("the sign-in is cancelled"))
    #expect(daemon.received.last?.method == "org.brewlog.Session.CancelLogin")
    #expect(daemon.received.last?.parameters == ["id": "7"])
    gate.open()
    await daemon.stop()
  }

  @Test func `Ctrl-C leaves the sign-in of another person alone`() async throws {
    let gate = Gate()
    let attempt = Self.attempt(startedBy: Int(getuid()) + 1)
    let daemon = try await ScriptedDaemon([.login: Self.waiting(attempt, gate)])
    let program = try Self.run(["login"], daemon)
    #expect(program.terminal.waitForOutput("left"))
    program.terminal.type("\u{3}")
    #expect(program.wait() == 1)
    #expect(program.terminal.wholeOutput().contains("goes on without this program"))
    #expect(daemon.received.count == 1)
    gate.open()
    await daemon.stop()
  }

  @Test func `a pasted address completes the sign-in, and is not shown in an error`() async throws {
    let gate = Gate()
    let attempt = Self.attempt(startedBy: Int(getuid()), uri: "https://example.org/authorize")
    let daemon = try await ScriptedDaemon([
      .login: Self.waiting(attempt, gate),
      .completeLogin: .later {
        gate.open()
        return .success((try? JSONText.encode(SessionReply(session: Samples.signedIn))) ?? [])
      },
    ])
    let program = try Self.run(["login", "--browser"], daemon)
    #expect(program.terminal.waitForOutput("left"))
    #expect(program.terminal.output.contains("https://example.org/authorize"))
    program.terminal.type("dummy-nonsense\n")
    #expect(program.terminal.waitForOutput("That is no address"))
    program.terminal.type("http://127.0.0.1:1/?code=dummy-code\n")
    #expect(program.wait() == 0)
    #expect(program.terminal.wholeOutput().contains("Signed in as ada@example.org"))
    let call = daemon.received.first { $0.method == "org.brewlog.Session.CompleteLogin" }
    #expect(
      call?.parameters == ["id": "7", "redirectedTo": "http://127.0.0.1:1/?code=dummy-code"])
    await daemon.stop()
  }

  @Test func `the full screen is left as it was, by q`() async throws {
    let gate = Gate()
    let events = ExpectedOutputTests.life
    let daemon = try await ScriptedDaemon([
      .status: .reply(Samples.status), .history: .reply(HistoryReply(events: events)),
      .watch: .stream { stream in
        await gate.wait()
        return .success([])
      },
    ])
    let program = try Self.run(["watch", "--full"], daemon, rows: 20)
    #expect(program.terminal.waitForOutput("The last hour"))
    #expect(program.terminal.output.contains("\u{1B}[?1049h"))
    program.terminal.resize(columns: 60, rows: 15)
    program.terminal.type("q")
    #expect(program.wait() == 0)
    #expect(program.terminal.wholeOutput().hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
    #expect(
      daemon.received.first { $0.method.hasSuffix("Watch") }?.parameters
        == ["afterSequence": 13])
    gate.open()
    await daemon.stop()
  }

  @Test func `Ctrl-C ends a watch in order`() async throws {
    let gate = Gate()
    let daemon = try await ScriptedDaemon([
      .watch: .stream { stream in
        let reply = WatchReply(event: ExpectedOutputTests.life[0])
        try? stream.send((try? JSONText.encode(reply)) ?? [])
        await gate.wait()
        return .success([])
      }
    ])
    let program = try Self.run(["watch"], daemon)
    #expect(program.terminal.waitForOutput("signed in"))
    program.terminal.type("\u{3}")
    #expect(program.wait() == 0)
    gate.open()
    await daemon.stop()
  }
}
