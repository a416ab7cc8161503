import BrewlogAPI
import Configuration
import Execution
import JSON
import Platform
import Session
import Systemd

/// How the daemon behaves towards who runs it: says when it is ready, what it is doing and that it
/// is well, reads its configuration again, and ends in order. sd_notify(3).
///
/// It exists before the parts that it speaks for, since they tell it of changes; until ``begin``
/// there is nothing to tell.
actor Conduct {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  let loop: EventLoop
  let manager: ServiceManager
  let log: Log
  let metrics = DaemonMetrics()
  let source: ConfigurationSource
  let askAccount: AccountNames.Ask
  var configuration: DaemonConfiguration
  var graph: DaemonGraph?
  var keeper: SocketKeeper?
  var watchdog: WatchdogMachine?
  var watchdogTimer: TimerID?
  /// Which of the watchdog's questions to the store is open.
  var openPulse = false
  private var isStatusDue = false
  private(set) var isStopping = false
  private var flushTimer: TimerID?

  init(
    loop: EventLoop, manager: ServiceManager, source: ConfigurationSource,
    configuration: DaemonConfiguration, log: Log,
    askAccount: @escaping AccountNames.Ask = AccountNames.ask
  ) {
    self.loop = loop
    self.manager = manager
    self.source = source
    self.askAccount = askAccount
    self.configuration = configuration
    self.log = log
    unownedExecutor = loop.asUnownedSerialExecutor()
  }

  // MARK: Begin

  /// All is in place and calls are answered: READY, and only then the way upstream is open.
  func begin(_ graph: DaemonGraph, keeper: SocketKeeper?, socketPath: String) {
    self.graph = graph
    self.keeper = keeper
    keeper?.assumeIsolated { $0.watch(for: graph.server) }
    manager.notify(.ready, .status(status))
    log(
      .notice, "brewlogd \(BrewlogDaemon.version) serves \(socketPath)", LogFields(event: "started")
    )
    graph.startTips()
    startWatchdog()
    flushLater()
    graph.transport.assumeIsolated { $0.open() }
  }

  // MARK: Status

  /// Something has happened to the session or the upstream. The status follows in a later turn: the
  /// coordinator tells of an event in the middle of a step.
  nonisolated func noteChange() {
    loop.perform { self.assumeIsolated { $0.statusIsDue() } }
  }

  private func statusIsDue() {
    guard !isStatusDue, graph != nil, !isStopping else { return }
    isStatusDue = true
    loop.perform { self.assumeIsolated { $0.tellStatus() } }
  }

  private func tellStatus() {
    isStatusDue = false
    if !isStopping { manager.notify(.status(status)) }
  }

  /// One line for `systemctl status`.
  var status: String {
    guard let graph else { return "starting" }
    let session = graph.coordinator.assumeIsolated { $0.snapshot() }
    let away = graph.transport.assumeIsolated { $0.awaySince }
    return StatusText.line(for: session, awaySince: away)
  }

  private func flushLater() {
    flushTimer = loop.schedule(at: loop.now.advanced(by: LogThrottle.window)) {
      self.assumeIsolated { conduct in
        conduct.log.flush()
        conduct.flushLater()
      }
    }
  }

  // MARK: End

  /// Ends the daemon in order. While a refresh is on its way, the manager is asked for patience: a
  /// token that was spent must reach the disk.
  func stop() async -> ExitCode {
    isStopping = true
    manager.notify(.stopping, .status("stopping"))
    log(.notice, "stopping", LogFields(event: "stopping"))
    let patience = Patience(
      until: loop.now.advanced(by: configuration.refresh.deadline * 2 + .seconds(60)))
    askForPatience(patience)
    let code = await graph?.stop() ?? .stopped
    patience.timer.withLock { timer in
      if let timer { loop.cancel(timer) }
      timer = nil
    }
    await keeper?.close()
    if let flushTimer { loop.cancel(flushTimer) }
    log.flush(all: true)
    return code
  }

  private final class Patience: Sendable {
    let until: Instant
    let timer = Locked<TimerID?>(nil)

    init(until: Instant) {
      self.until = until
    }
  }

  private func askForPatience(_ patience: Patience) {
    let isFinishing = graph?.coordinator.assumeIsolated { $0.isFinishing } ?? false
    guard isFinishing, loop.now < patience.until else { return }
    manager.notify(
      .extendTimeout(.seconds(10)), .status("stopping: a refresh under way is finished first"))
    let timer = loop.schedule(at: loop.now.advanced(by: .seconds(3))) {
      self.assumeIsolated { $0.askForPatience(patience) }
    }
    patience.timer.withLock { $0 = timer }
  }
}

/// The daemon's state in words.
enum StatusText {
  static func line(for session: SessionSnapshot, awaySince: WallTime?) -> String {
    var parts: [String] = []
    switch session.phase {
    case .signedIn:
      let account = session.facts?.account.map { " as \(TextSanitizer.clean($0, limit: 80))" } ?? ""
      parts.append("signed in" + account)
      switch session.activity {
      case .refreshing: parts.append("refreshing")
      case .idle, .backingOff:
        if let next = session.nextRefreshAt { parts.append("next refresh \(moment(next))") }
      }
    case .signedOut(let reason):
      parts.append("signed out: \(TextSanitizer.clean(reason, limit: 200))")
    case .suspended(let reason):
      parts.append("suspended: \(TextSanitizer.clean(reason, limit: 200))")
    }
    if let awaySince { parts.append("upstream away since \(moment(awaySince))") }
    if !session.durable { parts.append("the store takes no writes") }
    return parts.joined(separator: "; ")
  }

  /// Without fractions.
  private static func moment(_ moment: WallTime) -> String {
    Timestamps.text(WallTime(milliseconds: moment.milliseconds / 1000 * 1000))
  }
}
