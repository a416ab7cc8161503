import CChaosMounts
import DemoUpstream
import FoundationEssentials
import Glibc
import Platform
import TestSupport

/// A host of one daemon whose disk, names, clock and program can be taken away from it. Its script
/// runs on one thread.
final class Host: @unchecked Sendable {
  // Unchecked: `present` and `isUp` are locked, the rest is the script's thread's alone.
  let ledger: Ledger
  let upstream: DemoUpstream
  let scratch: ScratchDirectory
  let dialect: String
  private let present = Locked(0)
  private var child: ChildProcess?
  private var program = ""
  private(set) var hasDisk = false
  private(set) var hasNames = false
  private(set) var isDiskFull = false

  /// Enough for the session, its log and a thousand tips; small enough to be filled at once.
  private static let diskKilobytes: UInt32 = 6_144
  private static let name = "tips.chaos.test"

  init(_ ledger: Ledger, _ upstream: DemoUpstream, dialect: String) throws {
    (self.ledger, self.upstream, self.dialect) = (ledger, upstream, dialect)
    scratch = try ScratchDirectory()
    for directory in ["disk", "program", "run"] {
      guard mkdir(scratch.path(directory), 0o700) == 0 else {
        throw SystemError.last("make a directory")
      }
    }
    hasDisk = chaos_mount_disk(scratch.path("disk"), Self.diskKilobytes)
    try write("127.0.0.1 localhost\n127.0.0.1 \(Self.name)\n", to: "hosts")
    try write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", to: "resolv.conf")
    hasNames =
      hasDisk && chaos_cover(scratch.path("hosts"), "/etc/hosts")
      && chaos_cover(scratch.path("resolv.conf"), "/etc/resolv.conf")
    try stepClock(days: 0)
    try upgrade()
    try configure(backoff: 50)
  }

  deinit {
    child = nil
    if hasNames {
      _ = chaos_unmount("/etc/hosts")
      _ = chaos_unmount("/etc/resolv.conf")
    }
    if hasDisk { _ = chaos_unmount(scratch.path("disk")) }
  }

  var socket: String { scratch.path("run/brewlog.sock") }
  var stateDirectory: String { scratch.path("disk/state") }
  /// The number of the daemon's present run, counted from 1.
  var run: @Sendable () -> Int { { [present] in present.withLock { $0 } } }
  var pid: Int32 { child?.pid ?? 0 }
  var log: String { child?.standardError ?? "" }

  // MARK: The daemon

  /// A disk that is full may keep it down; one that is not may not.
  func start() throws {
    ledger.count { $0.starts += 1 }
    let child = try spawn()
    if child.waitForOutput(" serves ", onError: true, atMost: Caller.patience) {
      present.withLock { $0 += 1 }
      self.child = child
      return
    }
    let status = child.terminate(SIGKILL)
    let last = child.standardError.split(separator: "\n").last.map { String($0) } ?? ""
    guard isDiskFull else {
      throw DaemonFailure(
        description: "brewlogd did not come up (\(status?.description ?? "runs")): \(last)")
    }
    ledger.note("brewlogd does not start on the full disk: \(last)")
    try freeDisk()
    try start()
  }

  private func spawn() throws -> ChildProcess {
    var environment = Programs.environment
    environment["LD_PRELOAD"] = try Programs.path("libSteppedClock.so")
    environment["STEPPED_CLOCK"] = scratch.path("clock")
    return try ChildProcess.start(
      program, ["--config", scratch.path("brewlogd.conf")], environment: environment)
  }

  func end(_ signal: Int32) throws {
    guard let child else { return }
    ledger.endRun(run(), upstreamArrivals: upstream.arrivals)
    child.send(signal)
    let status = child.wait(atMost: Caller.patience)
    // A request may have come between the two.
    ledger.cutAnswers(upstream.arrivals)
    if signal == SIGKILL { ledger.count { $0.kills += 1 } }
    // 74: what could not be stored at the end is said; a full disk is a reason.
    let isRight =
      switch status {
      case .signalled(SIGKILL): signal == SIGKILL
      case .exited(0): signal == SIGTERM
      case .exited(74): signal == SIGTERM && isDiskFull
      default: false
      }
    if !isRight {
      ledger.violate("the daemon, sent signal \(signal), \(status?.description ?? "runs on")")
    }
    if child.standardError.contains("dummy-access-")
      || child.standardError.contains("dummy-refresh-")
    {
      ledger.violate("a token stands in the log")
    }
    self.child = nil
  }

  func hangUp() { child?.send(SIGHUP) }

  /// Another copy of the program takes the name, as a package's does (rename(2)).
  func upgrade() throws {
    // Copied by a process of its own: a file that this one has open to write could be held open by a
    // child that starts at that moment, and could not be executed (ETXTBSY, execve(2)).
    let copy = scratch.path("program/new")
    let child = try ChildProcess.start(
      "/usr/bin/install", ["-m", "755", Programs.path("brewlogd"), copy],
      environment: Programs.environment)
    program = scratch.path("program/current")
    guard child.wait() == .exited(0), rename(copy, program) == 0 else {
      throw DaemonFailure(description: "the program could not be replaced: \(child.standardError)")
    }
  }

  // MARK: Its surroundings

  func configure(backoff: Int, fault: String = "") throws {
    let host = hasNames ? Self.name : "127.0.0.1"
    let base = "http://\(host):\(upstream.port)"
    let authorization =
      dialect == "simple"
      ? "Dialect=simple"
      : "Dialect=oauth2\nTokenEndpoint=\(base)/token\nRevocationEndpoint=\(base)/revoke\n"
        + "ClientID=chaos"
    try write(
      """
      [Upstream]
      BaseURL=\(base)
      ConnectTimeout=2s
      RequestTimeout=4s
      [Auth]
      \(authorization)
      [Refresh]
      Deadline=4s
      Margin=1s
      [Retry]
      Backoff=\(backoff)ms
      [Cache]
      FreshFor=2s
      [Store]
      Directory=\(stateDirectory)
      [Socket]
      Path=\(socket)
      [Access]
      RequestsPerMinute=1000000
      [Log]
      Level=notice
      \(fault)

      """, to: "brewlogd.conf")
  }

  func setNames(known: Bool) throws {
    guard hasNames else { return }
    try write("127.0.0.1 localhost\n" + (known ? "127.0.0.1 \(Self.name)\n" : ""), to: "hosts")
  }

  /// The daemon's wall clock, and no other.
  func stepClock(days: Int) throws {
    var seconds = Int64(days) * 86_400
    let file = open(scratch.path("clock"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemError.last("set the clock") }
    defer { close(file) }
    guard pwrite(file, &seconds, 8, 0) == 8 else { throw SystemError.last("set the clock") }
  }

  func fillDisk() {
    guard hasDisk else { return }
    ledger.setDisk(full: true)
    isDiskFull = true
    let file = open(scratch.path("disk/filler"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    let block = [UInt8](repeating: 0x41, count: 65_536)
    var size = block.count
    while size > 0 { if Glibc.write(file, block, size) <= 0 { size /= 2 } }
  }

  func freeDisk() throws {
    guard isDiskFull else { return }
    unlink(scratch.path("disk/filler"))
    isDiskFull = false
    ledger.setDisk(full: false)
  }

  /// In place: what covers another file must stay the same file.
  private func write(_ text: String, to name: String) throws {
    let file = open(scratch.path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw SystemError.last("write \(name)") }
    defer { close(file) }
    let bytes = Array(text.utf8)
    guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
      throw SystemError.last("write \(name)")
    }
  }
}
