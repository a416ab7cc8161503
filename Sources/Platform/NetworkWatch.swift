import CLinux
import Execution
import Glibc

/// Tells when the host's network has changed: a link, an address or a route. Whoever waits for the
/// network to come back need not wait for its own next try.
///
/// What has changed is not looked at. Changes come in bursts, and what they are good for stands a
/// moment later: the handler is called once, when none has come for a second.
package final class NetworkWatch: @unchecked Sendable {
  // Unchecked: made, used and cancelled on the loop.
  private let loop: EventLoop
  private var descriptor: FileDescriptor?
  private var timer: TimerID?
  private let handler: @Sendable () -> Void

  private static let settling = Duration.seconds(1)

  /// On the loop. Throws where the kernel or a sandbox has no such sockets; a host without them is
  /// served all the same, by everybody's own next try.
  package convenience init(
    loop: EventLoop, handler: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    let raw = clinux_watch_network()
    guard raw >= 0 else { throw .last("watch the network") }
    try self.init(loop: loop, descriptor: FileDescriptor(owning: raw), handler: handler)
  }

  /// For tests, which have messages of their own.
  init(
    loop: EventLoop, descriptor: consuming FileDescriptor, handler: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.handler = handler
    let raw = descriptor.rawValue
    self.descriptor = consume descriptor
    try loop.watch(raw, for: .readable) { [weak self] _ in self?.read(raw) }
  }

  /// On the loop.
  package func cancel() {
    guard let descriptor = descriptor.take() else { return }
    loop.unwatch(descriptor.rawValue)
    if let timer { loop.cancel(timer) }
    timer = nil
  }

  private func read(_ raw: Int32) {
    // Messages that did not fit (ENOBUFS) are a change as well.
    var bytes = [UInt8](repeating: 0, count: 8192)
    var isOver = false
    while !isOver {
      let count = Glibc.read(raw, &bytes, bytes.count)
      isOver = count < 0 ? errno != EINTR && errno != ENOBUFS : count == 0
    }
    if let timer { loop.cancel(timer) }
    timer = loop.schedule(at: loop.now.advanced(by: Self.settling)) { [weak self] in
      self?.timer = nil
      self?.handler()
    }
  }
}
