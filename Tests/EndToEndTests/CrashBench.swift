import BrewlogAPI
import DemoUpstream
import FoundationEssentials
import Glibc
import JSON
import Platform
import TestSupport
import Testing

/// What a crash is put into.
enum CrashMove: String, CaseIterable, Sendable {
  case refresh, signIn, logout
}

/// What a restart must find of a session.
struct SessionTrace: Equatable, CustomStringConvertible {
  var state: SessionState
  var generation: Int
  var access: String?
  var refresh: String?
  var rotations: Int

  init(_ snapshot: Snapshot) {
    state = snapshot.state
    generation = snapshot.generation
    access = snapshot.accessTokenFingerprint
    refresh = snapshot.refreshTokenFingerprint
    rotations = snapshot.rotations
  }

  var description: String {
    "\(state) at \(generation), \(access ?? "-"), \(refresh ?? "-"), \(rotations) rotations"
  }
}

/// A daemon that is killed in the middle of a move and started again, and the strict upstream before
/// it: each refresh token works once.
final class CrashBench {
  let upstream: DemoUpstream
  let daemon: DaemonFixture
  /// The end of the daemon's that orders are sent to; -1: it takes none.
  private var control: Int32 = -1
  private let takesOrders: Bool
  /// What stood in the way, for the test to report.
  private(set) var problems: [String] = []

  /// `takesOrders`: the daemon in the program that ends itself at a call.
  init(takesOrders: Bool) throws {
    self.takesOrders = takesOrders
    upstream = try DemoUpstream(DemoOptions())
    daemon = try DaemonFixture(
      upstream: upstream.baseURL, ["Cache": ["FreshFor=0", "StaleIfError=0"]],
      program: takesOrders ? "CrashingDaemon" : "brewlogd")
    try start()
  }

  deinit {
    daemon.end()
    upstream.close()
    if control >= 0 { close(control) }
  }

  /// Kills before the n-th call of this move, and looks at what is left. False: the move has no so
  /// many calls.
  func crash(_ move: CrashMove, atCall n: Int) throws -> Bool {
    let (crash, call) = try prepare(move)
    _ = try order(n)
    try begin(move, call)
    let outcome = try call.receive()
    // What follows an answer (logs emptied, a revocation) has calls as well.
    if case .end = outcome {
    } else if try daemon.process.wait(atMost: .milliseconds(150)) == nil {
      _ = try order(0)
      return false
    }
    try examine(crash, outcome, "\(move), call \(n)")
    return true
  }

  /// Kills some time after the call was sent.
  func crash(_ move: CrashMove, after microseconds: UInt32) throws {
    let (crash, call) = try prepare(move)
    try begin(move, call)
    usleep(microseconds)
    daemon.crash()
    try examine(crash, try call.receive(), "\(move), after \(microseconds) µs")
  }

  /// How many calls a move has, all that follows its answer included.
  func calls(_ move: CrashMove) throws -> Int {
    let (_, call) = try prepare(move)
    let before = try order(0)
    try begin(move, call)
    _ = try call.receive()
    usleep(150_000)
    return try order(0) - before
  }

  // MARK: Parts

  private struct Crash {
    var move: CrashMove
    var before: SessionTrace
    /// The newest refresh token that the upstream had handed out.
    var newest: String
  }

  /// A session to lose, and a connection on which the daemon has answered.
  private func prepare(_ move: CrashMove) throws -> (Crash, Connection) {
    let connection = try Connection(daemon.socket)
    if try daemon.status().session.state != .signedIn {
      try begin(.signIn, connection)
      _ = try connection.receive().decoded(as: SessionReply.self)
    }
    try connection.send(.status)
    let status = try connection.receive().decoded(as: StatusReply.self)
    let crash = Crash(
      move: move, before: SessionTrace(status.session), newest: upstream.tokens.refresh)
    return (crash, connection)
  }

  private func begin(_ move: CrashMove, _ connection: Connection) throws {
    switch move {
    case .refresh: try connection.send(.refresh)
    case .signIn:
      let tokens = upstream.signIn()
      try connection.send(
        .importCredentials,
        ["accessToken": .string(tokens.access), "refreshToken": .string(tokens.refresh)])
    case .logout: try connection.send(.logout)
    }
  }

  /// After the kill: no token anywhere; a start that finds a state that may be; a session that works.
  private func examine(
    _ crash: Crash, _ outcome: Connection.Outcome, _ place: String
  ) throws {
    daemon.crash()
    try expectNoToken("\(place), killed")
    try start()
    try expectNoToken("\(place), started again")
    let inspected = try daemon.inspect()
    let after = SessionTrace(inspected.inMemory)
    if !inspected.consistent { problems.append("\(place): memory and disk differ") }
    if let problem = try fault(crash, outcome, after) {
      problems.append("\(place): \(problem); before: \(crash.before); after: \(after)")
    }
    if after.state == .signedIn {
      try use(place, mayBeLost: crash.move == .refresh && after == crash.before, crash.newest)
    }
  }

  private func fault(
    _ crash: Crash, _ outcome: Connection.Outcome, _ after: SessionTrace
  ) throws -> String? {
    if case .failure(let error) = outcome { return "the move failed: \(error)" }
    let isAnswered = if case .reply = outcome { true } else { false }
    if !isAnswered, after == crash.before { return nil }
    switch crash.move {
    case .refresh, .signIn:
      if isAnswered {
        let answered = SessionTrace(try outcome.decoded(as: SessionReply.self).session)
        return after == answered ? nil : "what was answered is lost: \(answered)"
      }
      let isNext =
        crash.move == .refresh
        ? after.generation == crash.before.generation
          && after.rotations == crash.before.rotations + 1
        : after.generation > crash.before.generation && after.rotations == 0
      return after.state == .signedIn && isNext ? nil : "neither the state before nor the next"
    case .logout:
      if isAnswered {
        let generation = try outcome.decoded(as: LogoutReply.self).generation
        guard after.generation == generation else { return "the logout was undone" }
      }
      return after.state == .signedOut && after.generation > crash.before.generation
        && after.access == nil && after.refresh == nil ? nil : "neither signed in nor signed out"
    }
  }

  /// The stored refresh token works; or, where the upstream had spent it and nobody could know, the
  /// session ends with just that reason.
  private func use(_ place: String, mayBeLost: Bool, _ newest: String) throws {
    upstream.expireAccessTokens()
    let outcome = try daemon.wait("the backoff is over", asking: { try daemon.outcome(.today) }) {
      if case .failure(.unavailable) = $0 { false } else { true }
    }
    switch outcome {
    case .reply: break
    case .failure(.tipsSignedOut(_, let reason)) where mayBeLost && reason.contains("not known"):
      if upstream.tokens.refresh == newest {
        problems.append("\(place): the token was not spent, and the session is lost all the same")
      }
    default: problems.append("\(place): \(outcome)")
    }
  }

  private func start() throws {
    guard takesOrders else { return try daemon.start() }
    if control >= 0 { close(control) }
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
    else { throw SystemError.last("make a pair of sockets") }
    control = ends[0]
    defer { close(ends[1]) }
    try daemon.start(descriptors: [3: ends[1]])
  }

  /// Tells the daemon before which call to end, and gets the calls so far.
  private func order(_ n: Int) throws -> Int {
    var order = n
    var answer = 0
    let size = MemoryLayout<Int>.size
    guard Glibc.send(control, &order, size, Int32(MSG_NOSIGNAL)) == size,
      read(control, &answer, size) == size
    else { throw SystemError.last("give the daemon an order") }
    return answer
  }

  // MARK: Secrecy

  /// Every token of the upstream's begins like these.
  private static let search = TokenSearch(["dummy-access-0", "dummy-refresh-0"])

  private func expectNoToken(_ place: String) throws {
    var seen: [String: [UInt8]] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: daemon.stateDirectory) {
      seen[name] = contents(daemon.stateDirectory + "/" + name)
    }
    seen["log"] = Array(daemon.newLog.utf8)
    if let pid = try? daemon.process.pid {
      for name in ["cmdline", "environ"] { seen[name] = contents("/proc/\(pid)/\(name)") }
    }
    for (name, bytes) in seen {
      if let piece = Self.search.find(in: bytes) {
        problems.append("\(place): \(name) has a token \(piece)")
      }
    }
  }

  private func contents(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path).map { [UInt8]($0) }
  }
}
