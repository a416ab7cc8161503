import Configuration

/// One visit of the doctor: what was learnt so far, for the checks that follow. They go from what
/// lies on disk to what is far away; none stops another.
struct Examination {
  let context: CommandContext
  private(set) var findings: [Finding] = []

  /// Nil: it could not be read, or is wrong.
  var configuration: DaemonConfiguration?
  /// The daemon answers, and its store takes writes.
  var isServed = false
  /// What the upstream's clock said, in milliseconds since 1970.
  var upstreamTime: Int64?

  /// Whether the daemon was named by file or socket: then no unit is known to run it.
  var isNamed: Bool {
    context.arguments.value("--config") != nil || context.arguments.value("--socket") != nil
  }

  /// Whether only a configuration that could not be read says where the daemon is.
  var isUnknown: Bool {
    context.arguments.value("--config") != nil && context.arguments.value("--socket") == nil
      && configuration == nil
  }

  var socketPath: String {
    if context.arguments.value("--socket") == nil, context.arguments.value("--config") != nil,
      let configuration
    {
      return configuration.socket.path
    }
    return context.place.path
  }

  var instance: String { context.arguments.value("--instance").map { "@" + $0 } ?? "" }

  mutating func add(_ finding: Finding) { findings.append(finding) }

  mutating func run() {
    checkConfiguration()
    checkUnit()
    checkSocket()
    checkDaemon()
    checkStore()
    checkUpstream()
    checkClock()
  }

  /// `sudo`, where that would show more.
  var asRoot: String? {
    if context.environment.uid == 0 || context.place.isOwn { return nil }
    let named = ["--socket", "--instance", "--config"].compactMap { option in
      context.arguments.value(option).map { " \(option) \($0)" }
    }
    return "Look as root: sudo brewlogctl doctor" + named.joined()
  }
}
