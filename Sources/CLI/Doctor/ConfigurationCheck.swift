import Configuration
import Platform

extension Examination {
  mutating func checkConfiguration() {
    let arguments = context.arguments
    let file = arguments.value("--config")
    if file == nil, arguments.value("--socket") != nil {
      add(
        .skipped(
          "configuration", "the daemon was named by its socket alone",
          remedy: "Name its configuration too: brewlogctl doctor --config FILE"))
      return
    }
    let source = ConfigurationSource(
      scope: context.place.isOwn ? .user(context.environment.uid) : .system,
      instance: arguments.value("--instance"), file: file,
      environment: context.environment.variables)
    let unreadable = Locked<[String]>([])
    let files = ConfigurationFiles(
      read: { path in
        let contents = ConfigurationFiles.system.read(path)
        if case .unreadable = contents { unreadable.withLock { $0.append(path) } }
        return contents
      },
      list: { path in
        let listing = ConfigurationFiles.system.list(path)
        if case .unreadable = listing { unreadable.withLock { $0.append(path) } }
        return listing
      })
    do throws(ConfigurationError) {
      let read = try DaemonConfiguration.load(from: source, files: files)
      configuration = read
      let set = read.settings.filter { $0.origin != "default" }
      let places = set.compactMap { setting in
        setting.origin.lastIndex(of: ":").map { String(setting.origin[..<$0]) }
      }
      var seen: Set<String> = []
      let names = places.filter { seen.insert($0).inserted }.joined(separator: ", ")
      add(.ok("configuration", "\(names): \(Words.count(set.count, "key")) set, all valid"))
    } catch {
      if context.environment.uid != 0, let path = unreadable.withLock({ $0.first }) {
        add(.skipped("configuration", "\(path) may not be read by you", remedy: asRoot))
        return
      }
      let check =
        "brewlogd --check-config" + (context.place.isOwn ? " --user" : "")
        + (arguments.value("--instance").map { " --instance \($0)" } ?? "")
        + (file.map { " --config \($0)" } ?? "")
      for problem in error.problems {
        add(
          .wrong(
            "configuration", problem.description,
            remedy: "Correct it, try it with \(check), then restart brewlogd."))
      }
    }
  }

  mutating func checkUnit() {
    if isNamed {
      add(.skipped("unit", "the daemon was named by its socket or file, not by a unit"))
      return
    }
    let variables = context.environment.variables
    let user = context.place.isOwn ? ["--user"] : []
    let unit = "brewlogd\(instance).socket"
    let properties = "LoadState,ActiveState,Result,UnitFileState"
    guard
      let (end, text) = RunningProgram.output(
        of: "systemctl", user + ["show", "--property", properties, unit], environment: variables,
        atMost: .seconds(10)), end == .exited(0)
    else {
      add(.skipped("unit", "systemd does not run here, or does not answer"))
      return
    }
    var values: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    add(verdict(on: unit, values, systemctl: user.isEmpty ? "sudo systemctl" : "systemctl --user"))
  }

  private func verdict(
    on unit: String, _ values: [String: String], systemctl: String
  ) -> Finding {
    let active = values["ActiveState"] ?? "unknown"
    switch (values["LoadState"], active) {
    case ("not-found", _):
      return .wrong(
        "unit", "\(unit) is not installed", remedy: "Install it: sudo make install, in the sources."
      )
    case (_, "active"):
      if values["UnitFileState"] == "disabled" {
        return .wrong(
          "unit", "\(unit) runs, but is not started with the host",
          remedy: "\(systemctl) enable \(unit)")
      }
      return .ok("unit", "\(unit) is active")
    case (_, "failed"):
      return .wrong(
        "unit", "\(unit) has failed: \(values["Result"] ?? "no reason is known")",
        remedy: "See why: journalctl -u \(unit) -n 50; then: \(systemctl) restart \(unit)")
    default:
      return .wrong(
        "unit", "\(unit) is \(active)", remedy: "Start it: \(systemctl) enable --now \(unit)")
    }
  }
}
