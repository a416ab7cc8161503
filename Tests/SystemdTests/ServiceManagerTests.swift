import Glibc
import Platform
import Systemd
import TestSupport
import Testing

/// sd_notify(3) reads the environment, so each test that sets it is a process of its own.
@Suite(.timeLimit(.minutes(1)))
struct ServiceManagerTests {
  @Test func `B168: an abstract address is heard`() async {
    await #expect(processExitsWith: .success) {
      let name = "brewlog-test-\(getpid())"
      let listener = try NoticeListener(abstract: name)
      setenv("NOTIFY_SOCKET", "@" + name, 1)
      ServiceManager { _ in exit(1) }.notify(.ready, .status("two\nlines"))
      #expect(listener.receive() == "READY=1\nSTATUS=two lines")
    }
  }

  @Test func `B168: a path is heard`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      let listener = try NoticeListener(path: scratch.path("notify"))
      setenv("NOTIFY_SOCKET", scratch.path("notify"), 1)
      ServiceManager { _ in exit(1) }.notify(.reloading(monotonicMicroseconds: 7))
      #expect(listener.receive() == "RELOADING=1\nMONOTONIC_USEC=7")
    }
  }

  @Test func `B168: without an address nothing happens`() async {
    await #expect(processExitsWith: .success) {
      unsetenv("NOTIFY_SOCKET")
      ServiceManager { _ in exit(1) }.notify(.ready)
    }
  }

  @Test func `B168: an address that cannot be used is one warning`() async {
    await #expect(processExitsWith: .success) {
      for address in ["", String(repeating: "/x", count: 100), "relative", "/nowhere/notify"] {
        setenv("NOTIFY_SOCKET", address, 1)
        let warnings = Locked(0)
        let manager = ServiceManager { _ in warnings.withLock { $0 += 1 } }
        for _ in 0..<3 { manager.notify(.aliveAndWell) }
        #expect(warnings.withLock { $0 } <= 1)
      }
    }
  }

  @Test func `the watchdog's interval counts for the process that it is meant for`() async {
    await #expect(processExitsWith: .success) {
      setenv("WATCHDOG_USEC", "2000000", 1)
      #expect(ServiceManager.watchdogInterval == .seconds(2))
      setenv("WATCHDOG_PID", "1", 1)
      #expect(ServiceManager.watchdogInterval == nil)
    }
  }

  @Test func `patience is asked for in microseconds`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      let listener = try NoticeListener(path: scratch.path("notify"))
      setenv("NOTIFY_SOCKET", scratch.path("notify"), 1)
      ServiceManager { _ in exit(1) }.notify(.stopping, .extendTimeout(.seconds(10)))
      #expect(listener.receive() == "STOPPING=1\nEXTEND_TIMEOUT_USEC=10000000")
    }
  }
}

/// What a service manager would hear.
private struct NoticeListener: ~Copyable {
  private let socket: FileDescriptor

  init(abstract name: String) throws { try self.init([0] + Array(name.utf8)) }

  init(path: String) throws { try self.init(Array(path.utf8)) }

  private init(_ name: [UInt8]) throws {
    let raw = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    guard raw >= 0 else { throw SystemError.last("create a socket") }
    let socket = FileDescriptor(owning: raw)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    let result = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(raw, $0, size) }
    }
    guard result == 0 else { throw SystemError.last("bind") }
    self.socket = socket
  }

  func receive() -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(socket.rawValue, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
