import BrewlogAPI
import CLI
import JSON
import Platform
import TestSupport
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct ErrorExplanationTests {
  static let cases: [(APIError, ExitCode, String)] = [
    (.tipsSignedOut(generation: 4, reason: "never signed in"), .noSession, "brewlogctl login"),
    (.tipsSuspended(reason: "the store was copied"), .noSession, "brewlogctl resume"),
    (
      .unavailable(reason: "no route", httpStatus: 503, retryAfterSeconds: 120), .unavailable,
      "in 2 min"
    ),
    (.refused(reason: "not yours", httpStatus: 403), .failed, "HTTP 403"),
    (.notFound(id: "abc"), .failed, "brewlogctl tips"),
    (.malformed(reason: "no title"), .failed, "no title"),
    (.tooMany(retryAfterSeconds: 30), .failed, "in 30 s"),
    (.tipsTooSlow, .failed, "read"),
    (.signedOut(generation: 4, reason: ""), .noSession, "brewlogctl login"),
    (.suspended(reason: "moved"), .noSession, "moved"),
    (.loginFailed(reason: "denied", upstreamError: "access_denied"), .failed, "access_denied"),
    (.loginNotConfigured(missing: ["ClientID="]), .failed, "ClientID="),
    (.noSuchLogin(id: "x"), .failed, "brewlogctl login"),
    (.refreshFailed(reason: "away", retryAfterSeconds: nil), .failed, "brewlogctl explain"),
    (.generationMoved(generation: 9), .failed, "9"),
    (.spentToken(reason: "replaced"), .failed, "used up"),
    (.tooSlow(lastSequence: 77), .failed, "--after 77"),
    (.logoutNotDurable(generation: 5, reason: "read-only"), .logoutNotDurable, "read-only"),
    (.storeFailed(reason: "disk full"), .failed, "disk full"),
    (.invalidConfiguration(file: "/etc/x.conf", line: 3, reason: "?"), .failed, "/etc/x.conf:3"),
    (.other(.permissionDenied), .permissionDenied, "brewlogctl can-i org.brewlog.Tips.Today"),
    (.other(.methodNotImplemented("x")), .failed, "does not offer org.brewlog.Tips.Today yet"),
    (.other(.methodNotFound("x")), .failed, "older"),
    (.other(.invalidParameter("maxAgeSeconds")), .usage, "maxAgeSeconds"),
    (.other(VarlinkError(name: "org.example.New")), .failed, "org.example.New"),
  ]

  @Test(arguments: cases)
  func `every error has its exit code, a cause and a remedy`(
    error: APIError, exit: ExitCode, words: String
  ) async throws {
    let daemon = try await ScriptedDaemon([.today: .failing(error)])
    let outcome = Invocation("tip").on(daemon)
    #expect(outcome.exit == exit)
    #expect(outcome.out.isEmpty)
    #expect(outcome.err.hasPrefix("brewlogctl: "))
    #expect(outcome.err.contains(words), "\(outcome.err)")
    await daemon.stop()
  }

  @Test(arguments: cases.map(\.0))
  func `an error survives the wire`(error: APIError) {
    #expect(APIError(error.varlinkError) == error)
  }

  @Test func `an error whose parameters are missing is still that error`() {
    let bare = VarlinkError(name: "org.brewlog.Session.LogoutNotDurable")
    #expect(APIError(bare) == .logoutNotDurable(generation: 0, reason: ""))
  }

  @Test func `a daemon that does not run is named with the way to start it`() throws {
    let directory = try ScratchDirectory()
    let named = Invocation("tip").run(socket: directory.path("none.sock"))
    #expect(named.exit == .unreachable)
    #expect(named.err.contains("no such file"))

    var own = Invocation("--user", "--instance", "work", "tip")
    own.variables = ["XDG_RUNTIME_DIR": directory.path]
    let outcome = own.run()
    #expect(outcome.exit == .unreachable)
    #expect(outcome.err.contains("\(directory.path)/brewlog@work/brewlog.sock"))
    #expect(outcome.err.contains("systemctl --user start brewlogd@work.socket"))
  }

  @Test(arguments: ["", "..", "a/b", "a b", "é"])
  func `an instance's name cannot lead elsewhere`(name: String) {
    #expect(Invocation("--instance", name, "status").run().exit == .usage)
  }

  @Test func `a socket's path that cannot be one is wrong usage`() throws {
    let empty = Invocation("--socket", "", "tip").run()
    #expect(empty.exit == .usage)
    #expect(empty.err.contains("--socket needs PATH"))
    let long = Invocation("--socket", String(repeating: "a", count: 108), "tip").run()
    #expect(long.exit == .usage)
    #expect(long.err.contains("at most 107 bytes, not 108"))
    let directory = try ScratchDirectory()
    let none = Invocation("tip").run(socket: directory.path)
    #expect(none.exit == .unreachable)
    #expect(none.err.contains("that is no socket"))
  }

  @Test(arguments: ["", String(repeating: "a", count: 257), String(repeating: "a", count: 100_000)])
  func `an id that is none is wrong usage, and not repeated at length`(id: String) {
    for invocation in [Invocation("tip", id), Invocation("rate", id, "3")] {
      let outcome = invocation.run()
      #expect(outcome.exit == .usage)
      #expect(outcome.err.contains("1 to 256 bytes, not \(id.utf8.count)"))
    }
    let unknown = Invocation(id, "status").run()
    #expect(unknown.exit == .usage)
    #expect(unknown.err.utf8.count < 1200)
  }

  @Test func `an option for every command is explained by the help of all`() {
    #expect(
      Invocation("--color", "purple", "tip").run().err.contains("used: brewlogctl --help"))
    #expect(Invocation("--instance", "a/b", "tip").run().err.contains("used: brewlogctl --help"))
  }

  @Test func `a tip that only the cache was asked for can be fetched`() async throws {
    let daemon = try await ScriptedDaemon([
      .today: .failing(
        .unavailable(reason: "not cached", httpStatus: nil, retryAfterSeconds: nil))
    ])
    #expect(Invocation("tip", "--cache-only").on(daemon).err.contains("without --cache-only"))
    #expect(Invocation("tip").on(daemon).err.contains("brewlogctl health"))
    await daemon.stop()
  }

  @Test func `an upstream's error code is said once`() async throws {
    let daemon = try await ScriptedDaemon([
      .login: .failing(
        .loginFailed(
          reason: "the token endpoint answered 400, access_denied", upstreamError: "access_denied"))
    ])
    let told = Invocation("login").on(daemon).err
    #expect(told.contains("400, access_denied\n"), "\(told)")
    await daemon.stop()
  }

  @Test func `a session that never was has no difference between disk and memory`() async throws {
    var disk = Samples.signedOut
    disk.reason = nil
    var memory = disk
    memory.reason = "never signed in"
    let daemon = try await ScriptedDaemon([
      .inspect: .reply(
        InspectReply(
          persisted: disk, inMemory: memory, consistent: true, store: Samples.store))
    ])
    let outcome = Invocation("session").on(daemon)
    #expect(outcome.out.contains("never signed in"))
    #expect(!outcome.out.contains("!"), "\(outcome.out)")
    await daemon.stop()
  }

  /// Without care the socket would be descriptor 1, and the tip be sent to the daemon.
  @Test(arguments: ["<&- >&-", ">&-", ">&- 2>&-"])
  func `output that is closed is a failure, and reaches nothing else`(closed: String) async throws {
    let daemon = try await ScriptedDaemon([
      .today: .reply(Samples.entry), .metrics: .reply(MetricsReply(openMetrics: "# EOF\n")),
    ])
    for command in ["tip", "metrics"] {
      let child = try ChildProcess.start(
        "/bin/sh",
        ["-c", "exec \"$0\" --socket \"$1\" \(command) \(closed)"]
          + [Programs.path("brewlogctl"), daemon.path],
        environment: Programs.environment)
      #expect(child.wait() == .exited(1))
      #expect(child.standardError.isEmpty == closed.hasSuffix("2>&-"))
    }
    await daemon.stop()
  }

  @Test func `a socket that one may not open names the group that may`() {
    var invocation = Invocation("tip")
    invocation.groupOfFile = "coffee"
    invocation.port = FailingPort(.unreachable(path: "/run/x", code: 13))
    let outcome = invocation.run()
    #expect(outcome.exit == .permissionDenied)
    #expect(outcome.err.contains("usermod -aG coffee"))
    invocation.groupOfFile = "root"
    #expect(!invocation.run().err.contains("usermod"))
    #expect(invocation.run().err.contains("Group="))
  }

  @Test(arguments: [ClientError.timedOut, .connectionClosed])
  func `a daemon that does not answer counts as out of reach`(error: ClientError) {
    var invocation = Invocation("tip")
    invocation.port = FailingPort(error)
    let outcome = invocation.run()
    #expect(outcome.exit == .unreachable)
    #expect(outcome.err.contains("journalctl"))
  }

  @Test func `a reply that is not as agreed is an error and no trap`() async throws {
    let daemon = try await ScriptedDaemon([
      .today: .now(.success(Array(#"{"tip": 7}"#.utf8)))
    ])
    let outcome = Invocation("tip").on(daemon)
    #expect(outcome.exit == .failed)
    #expect(outcome.err.contains("same version"))
    await daemon.stop()
  }
}

/// A daemon that cannot be had.
final class FailingPort: DaemonPort {
  private let error: ClientError

  init(_ error: ClientError) {
    self.error = error
  }

  func call(
    _ method: APIMethod, _ parameters: [String: JSONValue], timeout: Duration
  ) throws(ClientError) -> JSONValue {
    throw error
  }

  func stream(
    _ method: APIMethod, _ parameters: [String: JSONValue], alongside: () -> [Int32],
    tick: Duration?, _ each: (StreamStep) -> Bool
  ) throws(ClientError) {
    throw error
  }

  func serverUID() throws(ClientError) -> UInt32 { throw error }
}
