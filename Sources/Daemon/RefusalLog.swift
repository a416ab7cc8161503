import BrewlogAPI
import Execution
import Glibc
import Platform

/// Writes who was refused what, with what the kernel knows of the caller. On the loop.
actor RefusalLog {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let ground: any Ground
  private let log: Log
  private var throttle = RefusalThrottle()
  private var timer: TimerID?

  init(ground: any Ground, log: Log) {
    self.ground = ground
    self.log = log
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  func note(_ method: APIMethod, _ peer: PeerCredentials, rule: String) {
    let kind = RefusalThrottle.Kind(uid: peer.uid, method: method.rawValue)
    if throttle.admit(kind, pid: peer.pid, at: ground.now) {
      let unit = PeerUnit.name(of: peer.pid).map { ", \($0)" } ?? ""
      write(
        "refused \(method.rawValue) to uid \(peer.uid), pid \(peer.pid)\(unit): \(rule)", peer.uid)
    }
    summarizeLater()
  }

  private func summarizeLater() {
    if timer != nil || throttle.isEmpty { return }
    let due = ground.now.advanced(by: RefusalThrottle.interval)
    timer = ground.schedule(at: due) { [weak self] in
      guard let self else { return }
      self.assumeIsolated { $0.summarize() }
    }
  }

  private func summarize() {
    timer = nil
    for summary in throttle.summaries(at: ground.now) {
      write(
        "refused \(summary.kind.method) to uid \(summary.kind.uid), lastly pid \(summary.pid), "
          + "\(summary.count) more times", summary.kind.uid)
    }
    summarizeLater()
  }

  /// Evidence, since it is held back here, by user and method, and not once more by the log.
  private func write(_ line: String, _ uid: UInt32) {
    log(.notice, line, LogFields(event: "accessRefused", actorUID: uid, isEvidence: true))
  }
}

/// The systemd unit of a process, where it can be seen: not across PID namespaces, nor with
/// `ProtectProc=`. The process may have ended since, and the number be another's; it is for people.
enum PeerUnit {
  static func name(of pid: Int32) -> String? {
    guard pid > 0 else { return nil }
    let raw = open("/proc/\(pid)/cgroup", O_RDONLY | O_CLOEXEC)
    guard raw >= 0 else { return nil }
    let file = FileDescriptor(owning: raw)
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = read(file.rawValue, &buffer, buffer.count)
    guard count > 0 else { return nil }
    return unit(in: String(decoding: buffer[..<count], as: UTF8.self))
  }

  /// From `/proc/PID/cgroup`, cgroups(7): the innermost part of the path that is a unit's.
  static func unit(in text: String) -> String? {
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      // The unified hierarchy, or systemd's own of the old ones.
      guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd" else { continue }
      let parts = fields[2].split(separator: "/")
      let unit = parts.last { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
      if let unit { return String(unit) }
    }
    return nil
  }
}
