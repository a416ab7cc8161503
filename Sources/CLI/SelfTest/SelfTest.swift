import BrewlogAPI
import Glibc
import JSON
import Platform

/// The promises that matter most, tried with the programs that are installed. Each step builds on
/// the one before; the first that fails ends it.
struct SelfTest {
  let stage: SelfTestStage

  struct Step {
    let name: String
    let run: () throws(CommandFailure) -> String
  }

  var steps: [Step] {
    [
      Step(name: "start", run: start),
      Step(name: "rotation", run: rotation),
      Step(name: "crash", run: crash),
      Step(name: "outage", run: outage),
      Step(name: "logout race", run: logoutRace),
      Step(name: "stop", run: stop),
    ]
  }

  private static let callers = 8

  private func start() throws(CommandFailure) -> String {
    try stage.startUpstream()
    try stage.writeConfiguration()
    try stage.startDaemon()
    try stage.signIn()
    return "a demo upstream and brewlogd run, with a session whose token has expired"
  }

  /// I1: many ask, one refreshes.
  private func rotation() throws(CommandFailure) -> String {
    let titles = Locked<[String]>([])
    let socket = stage.path("brewlog.sock")
    let threads = (0..<Self.callers).compactMap { _ in
      SystemThread.start {
        let daemon = SocketDaemon(path: socket)
        let reply = try? daemon.call(.today, [:], timeout: SelfTestStage.patience)
        guard case .object(let entry)? = reply, case .object(let tip)? = entry["tip"],
          case .string(let title)? = tip["title"]
        else { return }
        titles.withLock { $0.append(title) }
      }
    }
    for thread in threads { thread.end() }
    let answered = titles.withLock { $0.count }
    guard answered == Self.callers else {
      throw CommandFailure(.failed, "\(answered) of \(Self.callers) callers got the tip")
    }
    let refreshes = stage.requests("POST /auth/refresh")
    guard refreshes == 1 else {
      throw CommandFailure(.failed, "\(Self.callers) callers caused \(refreshes) refreshes, not 1")
    }
    return "\(Self.callers) callers at once caused one refresh, and all got the tip"
  }

  /// I9: what was published is there after a crash.
  private func crash() throws(CommandFailure) -> String {
    let before = try stage.asked().quietly(.inspect, as: InspectReply.self)
    stage.killDaemon()
    try stage.startDaemon()
    let after = try stage.asked().quietly(.inspect, as: InspectReply.self)
    guard after.consistent, after.inMemory.state == .signedIn,
      after.inMemory.accessTokenFingerprint == before.inMemory.accessTokenFingerprint,
      after.inMemory.refreshTokenFingerprint == before.inMemory.refreshTokenFingerprint,
      after.inMemory.generation == before.inMemory.generation
    else {
      throw CommandFailure(.failed, "after kill -9 the session is not the one from before")
    }
    _ = try stage.asked().quietly(
      .refresh, timeout: SelfTestStage.patience, as: SessionReply.self)
    return "after kill -9, the same session is back and can be refreshed"
  }

  /// An upstream that does not answer leaves the cached tip, said to be stale.
  private func outage() throws(CommandFailure) -> String {
    stage.holdUpstream()
    defer { stage.releaseUpstream() }
    let entry = try stage.asked().quietly(
      .today, ["maxAgeSeconds": 0], timeout: SelfTestStage.patience, as: Entry.self)
    guard entry.provenance.stale, let reason = entry.provenance.staleReason else {
      throw CommandFailure(.failed, "without an upstream, the tip was not marked as stale")
    }
    return "the cached tip is served, as stale: \(reason)"
  }

  /// I2: a logout does not wait for a refresh on its way, and its answer changes nothing.
  private func logoutRace() throws(CommandFailure) -> String {
    stage.holdUpstream()
    let socket = stage.path("brewlog.sock")
    let refreshed = Locked<Bool?>(nil)
    let caller = SystemThread.start {
      let reply = try? SocketDaemon(path: socket).call(
        .refresh, [:], timeout: SelfTestStage.patience)
      refreshed.withLock { $0 = reply != nil }
    }
    try stage.wait(for: "the refresh") { () throws(CommandFailure) -> Bool in
      let status = try stage.asked().quietly(.status, as: StatusReply.self)
      return status.session.activity == .refreshing || refreshed.withLock { $0 != nil }
    }
    let began = ContinuousClock.now
    let reply: LogoutReply
    do throws(CommandFailure) {
      reply = try stage.asked().quietly(
        .logout, ["revoke": false], timeout: SelfTestStage.patience, as: LogoutReply.self)
    } catch {
      stage.releaseUpstream()
      throw error
    }
    let took = began.duration(to: .now)
    stage.releaseUpstream()
    caller?.end()
    guard refreshed.withLock({ $0 }) == false else {
      throw CommandFailure(.failed, "the refresh of a session that had ended was answered as done")
    }
    let after = try stage.asked().quietly(.inspect, as: InspectReply.self)
    guard after.consistent, after.inMemory.state == .signedOut, after.persisted.state == .signedOut,
      after.inMemory.generation == reply.generation
    else {
      throw CommandFailure(.failed, "a late answer has brought the session back")
    }
    let erasure = try stage.asked().quietly(
      .verifyErasure, timeout: SelfTestStage.patience, as: VerifyErasureReply.self)
    guard erasure.clean else {
      throw CommandFailure(
        .failed, "traces are left: \(erasure.findings.joined(separator: "; "))")
    }
    return
      "a logout amid a refresh took \(took / .milliseconds(1) < 1 ? 1 : Int(took / .milliseconds(1))) ms, "
      + "nothing came back, nothing is left on disk"
  }

  private func stop() throws(CommandFailure) -> String {
    let end = stage.stopDaemon()
    guard end == .exited(0) else {
      throw CommandFailure(
        .failed, "brewlogd did not stop cleanly (\(end.map { "\($0)" } ?? "it still runs"))")
    }
    guard !FileFacts.exists(stage.path("brewlog.sock")) else {
      throw CommandFailure(.failed, "the socket is still there after the stop")
    }
    return "brewlogd stopped cleanly"
  }
}
