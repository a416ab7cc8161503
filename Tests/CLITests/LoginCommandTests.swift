import BrewlogAPI
import CLI
import JSON
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct LoginCommandTests {
  private let reply = Answer.reply(SessionReply(session: Samples.signedIn))

  @Test(
    arguments: [
      (
        #"{"accessToken":"dummy-access-0","refreshToken":"dummy-refresh-0","expiresInSeconds":60,"account":"ada","scope":null}"#,
        [
          "accessToken": "dummy-access-0", "refreshToken": "dummy-refresh-0",
          "expiresInSeconds": 60, "account": "ada",
        ]
      ),
      ("  dummy-refresh-0\n", ["refreshToken": "dummy-refresh-0"]),
    ] as [(String, [String: JSONValue])])
  func `tokens come from standard input`(
    input: String, parameters: [String: JSONValue]
  ) async throws {
    let daemon = try await ScriptedDaemon([.importCredentials: reply])
    var invocation = Invocation("login", "--token-stdin")
    invocation.input = Array(input.utf8)
    let outcome = invocation.on(daemon)
    #expect(outcome.exit == .done)
    #expect(daemon.received.map(\.parameters) == [parameters])
    #expect(outcome.out == "Signed in as ada@example.org, since 2026-11-28 09:12.\n")
    #expect(!(outcome.out + outcome.err).contains("dummy-"))
    await daemon.stop()
  }

  @Test(arguments: [
    "", "\n", "two dummy-words", "dummy\u{0}x", #"{"accessToken":7}"#, #"{"accessToken":""}"#,
    #"{"dummy-secret":"x"}"#, #"{"account":"ada"}"#, "{dummy-secret", #"{"accessToken":"dummy é"}"#,
    #"{"accessToken":"dummy-0","expiresInSeconds":-1}"#, "\"dummy\u{301}\"",
    String(repeating: "d", count: 64 * 1024 + 1),
  ])
  func `input that is no token is refused unsent and unrepeated`(input: String) async throws {
    let daemon = try await ScriptedDaemon([.importCredentials: reply])
    var invocation = Invocation("login", "--token-stdin")
    invocation.input = Array(input.utf8)
    let outcome = invocation.on(daemon)
    #expect(outcome.exit == .usage)
    #expect(!outcome.err.contains("dummy"))
    #expect(daemon.received.isEmpty)
    await daemon.stop()
  }

  @Test(arguments: [
    ["login", "dummy-refresh-0"], ["login", "--token-stdin", "dummy-refresh-0"],
    ["login", "--token", "dummy-refresh-0"], ["login", "--token=dummy-refresh-0"],
    ["login", "--refresh-token=dummy-refresh-0"], ["login", "--token-stdin=dummy-refresh-0"],
    ["login", "-dummy-refresh-0"], ["login", "--dummy-refresh-0-that-is-long"],
  ])
  func `a token as an argument is refused and not repeated`(arguments: [String]) {
    var invocation = Invocation()
    invocation.arguments = arguments
    let outcome = invocation.run()
    #expect(outcome.exit == .usage)
    #expect(!outcome.err.contains("dummy"))
  }

  @Test func `a token is not typed on a screen`() {
    var invocation = Invocation("login", "--token-stdin")
    invocation.inputIsTerminal = true
    #expect(invocation.run().exit == .usage)
  }

  @Test(
    arguments: [
      (0, true), (1000, true), (990, true), (1001, false),
    ] as [(UInt32, Bool)])
  func `a token goes to root, the daemon's user or oneself only`(server: UInt32, sent: Bool) {
    let port = RecordingPort(uid: server)
    var invocation = Invocation("login", "--token-stdin")
    (invocation.uid, invocation.users, invocation.port) = (1000, ["brewlog": 990], port)
    invocation.input = Array("dummy-refresh-0".utf8)
    let outcome = invocation.run()
    #expect(port.methods == (sent ? [.importCredentials] : []))
    #expect(outcome.exit == (sent ? .done : .failed))
    if !sent { #expect(outcome.err.contains("was not sent")) }
  }

  @Test func `another instance's user may not have the token`() {
    let port = RecordingPort(uid: 991)
    var invocation = Invocation("--instance", "work", "login", "--token-stdin")
    invocation.users = ["brewlog": 990, "brewlog-home": 991, "brewlog-work": 992]
    (invocation.uid, invocation.port) = (1000, port)
    invocation.input = Array("dummy-refresh-0".utf8)
    #expect(invocation.run().exit == .failed)
    #expect(port.methods.isEmpty)
  }

  @Test func `the device flow shows address and code, then who is signed in`() async throws {
    let attempt = LoginAttempt(
      id: "1", flow: .device,
      device: DevicePrompt(
        verificationUri: "https://example.org/device", userCode: "WDJB-MJHT"),
      expiresAt: "2026-11-30T14:10:00Z", startedByUid: 0)
    let daemon = try await ScriptedDaemon([
      .login: .stream { stream in
        for _ in 0..<2 {
          try? stream.send((try? JSONText.encode(LoginReply(attempt: attempt))) ?? [])
        }
        return .success((try? JSONText.encode(LoginReply(session: Samples.signedIn))) ?? [])
      }
    ])
    let outcome = Invocation("login").on(daemon)
    #expect(outcome.exit == .done)
    #expect(
      outcome.out == """
        Open  https://example.org/device
        Enter WDJB-MJHT
        It ends in 10 min (14:10).
        Signed in as ada@example.org, since 2026-11-28 09:12.

        """)
    await daemon.stop()
  }

  @Test func `a flow that the daemon does not have yet is said plainly`() async throws {
    let daemon = try await ScriptedDaemon([:])
    let outcome = Invocation("login").on(daemon)
    #expect(outcome.exit == .failed)
    #expect(outcome.err.contains("does not offer org.brewlog.Session.Login yet"))
    #expect(outcome.err.contains("--token-stdin"))
    await daemon.stop()
  }

  @Test(arguments: [
    (LogoutReply(previousGeneration: 3, generation: 4, revocation: .queued), "Signed out."),
    (LogoutReply(previousGeneration: 3, generation: 4, revocation: .unknown("x")), "Revocation: x"),
    (LogoutReply(previousGeneration: 4, generation: 4, revocation: .skipped), "no session"),
  ])
  func `a logout is done, with or without a session`(
    reply: LogoutReply, words: String
  ) async throws {
    let daemon = try await ScriptedDaemon([.logout: .reply(reply)])
    let outcome = Invocation("logout").on(daemon)
    #expect(outcome.exit == .done)
    #expect(outcome.out.contains(words))
    _ = Invocation("logout", "--no-revoke").on(daemon)
    #expect(
      daemon.received.filter { $0.method.hasSuffix("Logout") }.map(\.parameters)
        == [[:], ["revoke": false]])
    await daemon.stop()
  }

  @Test(arguments: [("y\n", true), (" YES\n", true), ("n\n", false), ("\n", false), ("", false)])
  func `on a terminal a logout asks, and ends just that session`(
    answer: String, isDone: Bool
  ) async throws {
    let daemon = try await ScriptedDaemon([
      .status: .reply(Samples.status),
      .logout: .reply(LogoutReply(previousGeneration: 3, generation: 4, revocation: .queued)),
    ])
    var invocation = Invocation("logout", "--color", "never")
    (invocation.terminal, invocation.inputIsTerminal) = (true, true)
    invocation.typed = answer
    let outcome = invocation.on(daemon)
    #expect(outcome.exit == (isDone ? .done : .failed))
    #expect(outcome.out.contains("End this session? [y/N]"))
    let calls = daemon.received.filter { $0.method.hasSuffix("Logout") }
    #expect(calls.map(\.parameters) == (isDone ? [["ifGeneration": 3]] : []))
    invocation.arguments.append("--yes")
    #expect(!invocation.on(daemon).out.contains("?"))
    await daemon.stop()
  }

  @Test func `refresh and resume show the session as it is then`() async throws {
    let daemon = try await ScriptedDaemon([.refresh: reply, .resume: reply])
    let refresh = Invocation("refresh", "--wait", "2s").on(daemon)
    #expect(refresh.out.hasPrefix("Refreshed.\nSession    signed in as ada@example.org"))
    #expect(daemon.received.first?.parameters == ["waitSeconds": 2])
    #expect(Invocation("resume").on(daemon).out.contains("signed in as ada@example.org"))
    await daemon.stop()
  }
}

/// A daemon of some user's that takes an import.
final class RecordingPort: DaemonPort {
  private let uid: UInt32
  private(set) var methods: [APIMethod] = []

  init(uid: UInt32) {
    self.uid = uid
  }

  func call(
    _ method: APIMethod, _ parameters: [String: JSONValue], timeout: Duration
  ) throws(ClientError) -> JSONValue {
    methods.append(method)
    guard let bytes = try? JSONText.encode(SessionReply(session: Samples.signedIn)),
      let value = try? JSONText.decode(JSONValue.self, from: bytes)
    else { throw .connectionClosed }
    return value
  }

  func stream(
    _ method: APIMethod, _ parameters: [String: JSONValue], alongside others: () -> [Int32],
    tick: Duration?, _ each: (StreamStep) -> Bool
  ) throws(ClientError) {
    throw .connectionClosed
  }

  func serverUID() throws(ClientError) -> UInt32 { uid }
}
