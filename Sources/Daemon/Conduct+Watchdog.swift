import Execution
import Platform
import Session
import Store
import Systemd

/// The watchdog: half the manager's interval between two looks, sd_watchdog_enabled(3).
extension Conduct {
  func startWatchdog() {
    guard let interval = ServiceManager.watchdogInterval else { return }
    watchdog = WatchdogMachine()
    look(every: interval / 2)
  }

  private func look(every span: Duration) {
    watchdogTimer = loop.schedule(at: loop.now.advanced(by: span)) {
      self.assumeIsolated { $0.look(every: span) }
    }
    guard let graph else { return }
    let sight = graph.coordinator.assumeIsolated { coordinator in
      WatchdogMachine.Sight(
        coordinatorAnswers: !coordinator.isOverdue, pairIsUnstored: coordinator.pairIsUnstored,
        storeAnswers: true, storeWaits: StoreProgress.waits)
    }
    feed(sight, graph)
  }

  private func feed(_ sight: WatchdogMachine.Sight, _ graph: DaemonGraph) {
    var sight = sight
    sight.storeAnswers = !openPulse
    if watchdog?.look(sight) ?? false {
      manager.notify(.aliveAndWell)
    } else {
      log(
        .error,
        sight.coordinatorAnswers
          ? "the store's thread does not answer" : "a refresh does not come to its end")
    }
    guard !openPulse else { return }
    openPulse = true
    Task {
      await graph.store.sessions.pulse()
      self.openPulse = false
    }
  }
}
