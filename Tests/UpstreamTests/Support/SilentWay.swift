import Glibc
import Platform
import TestSupport

/// Passes connections on to a port. Those that stand when it goes silent pass nothing more, and are
/// not closed either, as behind a router that has been started anew; new ones are passed on.
final class SilentWay: Sendable {
  private struct State {
    var descriptors: [Int32] = []
    /// Connections up to this one are silent.
    var silent = 0
    var count = 0
  }

  let port: UInt16
  private let listener: Int32
  private let target: UInt16
  private let state = Locked(State())

  init(to target: UInt16) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    var address = Self.address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let size = length
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(listener, generic, size) == 0 && listen(listener, 16) == 0
          && getsockname(listener, generic, &length) == 0
      }
    }
    guard isBound else { throw SystemError(operation: "listen", code: errno) }
    port = UInt16(bigEndian: address.sin_port)
    self.target = target
    let state = state
    Thread.start { Self.accept(listener, target, state) }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    state.withLock { for descriptor in $0.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  func goSilent() { state.withLock { $0.silent = $0.count } }

  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private static func accept(_ listener: Int32, _ target: UInt16, _ state: Locked<State>) {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { return }
      let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = address(target)
      let size = socklen_t(MemoryLayout<sockaddr_in>.size)
      _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(server, $0, size) }
      }
      let number = state.withLock { state in
        state.descriptors += [client, server]
        state.count += 1
        return state.count
      }
      Thread.start { pump(client, server, number, state) }
      Thread.start { pump(server, client, number, state) }
    }
  }

  private static func pump(
    _ source: Int32, _ target: Int32, _ number: Int, _ state: Locked<State>
  ) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      if state.withLock({ number <= $0.silent }) { continue }
      _ = send(target, buffer, count, Int32(MSG_NOSIGNAL))
    }
  }

  /// A thread that ends with its work.
  private enum Thread {
    static func start(_ body: @escaping @Sendable () -> Void) {
      let box = Unmanaged.passRetained(Work(body))
      var thread = pthread_t()
      pthread_create(
        &thread, nil,
        { context in
          guard let context else { return nil }
          Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
          return nil
        }, box.toOpaque())
      pthread_detach(thread)
    }
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
