import CLinux
import Glibc

/// Signals as events of the loop, by signalfd(2), instead of handlers that interrupt any thread at
/// any point.
package final class SignalSource: @unchecked Sendable {
  // Unchecked: `descriptor` is made in `init` and taken in `cancel`, both on the loop.
  private let loop: EventLoop
  private var descriptor: FileDescriptor?

  /// Keeps the signals from their default effect, on the calling thread and those that it starts
  /// later: to be called before any other thread exists, since a signal goes to any thread that
  /// takes it.
  package static func block(_ signals: [Int32]) {
    var set = SignalSet.of(signals)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// On the loop. Blocks the signals on its thread too, and calls `handler` on the loop for each
  /// that arrives, until ``cancel()``. Equal signals that come together may arrive as one.
  package init(
    loop: EventLoop, signals: [Int32], handler: @escaping @Sendable (Int32) -> Void
  ) throws(SystemError) {
    SignalSource.block(signals)
    var set = SignalSet.of(signals)
    let raw = signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
    guard raw >= 0 else { throw .last("create a signalfd") }
    let descriptor = FileDescriptor(owning: raw)
    try loop.watch(raw, for: .readable) { _ in
      var info = signalfd_siginfo()
      let size = MemoryLayout<signalfd_siginfo>.size
      // One per round: the handler may cancel, and the loop comes back while there are more.
      if read(raw, &info, size) == size { handler(Int32(bitPattern: info.ssi_signo)) }
    }
    self.loop = loop
    self.descriptor = consume descriptor
  }

  /// On the loop. The signals stay blocked: what is pending must not end the process now.
  package func cancel() {
    guard let descriptor = descriptor.take() else { return }
    loop.unwatch(descriptor.rawValue)
  }
}
