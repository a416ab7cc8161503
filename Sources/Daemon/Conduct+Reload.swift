import Configuration
import Execution
import Platform
import Session
import Systemd
import Upstream

/// The configuration, read again.
extension Conduct {
  /// Takes up what the files say now, all of it or nothing: on any fault the old configuration stays
  /// in force. Returns what changed. The service manager sees the reload begin and end.
  func reload() async throws(ConfigurationError) -> [EffectiveSetting] {
    manager.notify(
      .reloading(monotonicMicroseconds: ServiceManager.monotonicMicroseconds),
      .status("reading the configuration"))
    defer { if !isStopping { manager.notify(.ready, .status(status)) } }
    do throws(ConfigurationError) {
      let changed = try await readAndTake()
      metrics.countReload(succeeded: true)
      return changed
    } catch {
      metrics.countReload(succeeded: false)
      for problem in error.problems {
        log(.error, problem.description, LogFields(event: "configurationRefused"))
      }
      log(
        .error, "the configuration is not valid; the old one stays in force",
        LogFields(event: "configurationRefused", isEvidence: true))
      throw error
    }
  }

  /// The files are read again once the names in them are known: what is taken up is what they say in
  /// that very turn, so of two reloads the later one has the newer files.
  private func readAndTake() async throws(ConfigurationError) -> [EffectiveSetting] {
    var accounts = AccountNames(asking: [])
    while !isStopping {
      let new = try DaemonConfiguration.load(from: source)
      let names = AccountNames.names(in: new)
      if accounts.covers(names) { return try take(new, accounts) }
      accounts = await AccountNames.lookUp(names, askAccount)
    }
    return []
  }

  private func take(
    _ new: DaemonConfiguration, _ accounts: AccountNames
  ) throws(ConfigurationError) -> [EffectiveSetting] {
    let change = ConfigurationChange(from: configuration, to: new)
    do throws(DaemonGraph.Fault) {
      try graph?.adopt(change.inForce, from: configuration, accounts)
    } catch {
      throw ConfigurationError(unusable: error.message)
    }
    let socket = change.inForce.socket
    keeper?.assumeIsolated { $0.adopt(mode: socket.mode, group: socket.group, accounts) }
    log.setLevel(Log.Level(change.inForce.log.level))
    configuration = change.inForce
    tell(change)
    return change.changed + change.deferred
  }

  private func tell(_ change: ConfigurationChange) {
    for (setting, old) in zip(change.changed, change.previous) {
      log(
        .notice,
        "[\(setting.section)] \(setting.key)= is now \(setting.value.isEmpty ? "empty" : setting.value)"
          + ", was \(old.isEmpty ? "empty" : old) (\(setting.origin))",
        LogFields(event: "configurationChanged", isEvidence: true))
    }
    for setting in change.deferred {
      log(
        .warning, "[\(setting.section)] \(setting.key)=\(setting.value) changes only at a restart",
        LogFields(event: "configurationChanged", isEvidence: true))
    }
    if change.changed.isEmpty && change.deferred.isEmpty {
      log(.notice, "the configuration was read again: nothing has changed")
    }
  }
}

/// What differs between two configurations, and what of the new one can be had without a restart.
struct ConfigurationChange {
  /// The new one, but for what changes only at a restart.
  let inForce: DaemonConfiguration
  private(set) var changed: [EffectiveSetting] = []
  /// The old values of `changed`.
  private(set) var previous: [String] = []
  /// Their origin says that they wait.
  private(set) var deferred: [EffectiveSetting] = []

  init(from old: DaemonConfiguration, to new: DaemonConfiguration) {
    var inForce = new
    inForce.store = old.store
    inForce.socket.path = old.socket.path
    for (index, setting) in new.settings.enumerated() {
      let before = old.settings.first { $0.section == setting.section && $0.key == setting.key }
      guard let before, before.value != setting.value else { continue }
      if Self.needsRestart(setting) {
        inForce.settings[index] = before
        var waiting = setting
        waiting.origin += " (at the next restart)"
        deferred.append(waiting)
      } else {
        changed.append(setting)
        previous.append(before.value)
      }
    }
    self.inForce = inForce
  }

  private static func needsRestart(_ setting: EffectiveSetting) -> Bool {
    setting.section == "Store" || (setting.section == "Socket" && setting.key == "Path")
  }
}
