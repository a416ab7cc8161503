import CLinux
import Glibc

/// Signals for a program without a loop: readable, for poll(2), while one is waiting. The signals
/// lose their default effect on the calling thread and those that it starts later, for the life of
/// the value; then it comes back.
package struct SignalDescriptor: ~Copyable, Sendable {
  private let descriptor: FileDescriptor
  private let signals: [Int32]

  package init(_ signals: [Int32]) throws(SystemError) {
    SignalSource.block(signals)
    var set = SignalSet.of(signals)
    let raw = signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
    guard raw >= 0 else { throw .last("create a signalfd") }
    descriptor = FileDescriptor(owning: raw)
    self.signals = signals
  }

  deinit {
    var set = SignalSet.of(signals)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  package var rawValue: Int32 { descriptor.rawValue }

  /// The next signal that has come; nil: none is waiting.
  package func next() -> Int32? {
    var info = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    guard read(descriptor.rawValue, &info, size) == size else { return nil }
    return Int32(bitPattern: info.ssi_signo)
  }
}
