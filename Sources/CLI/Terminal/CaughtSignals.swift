import Glibc
package import Platform

/// Signals that a command takes itself while it waits: Ctrl-C ends an attempt in order, a new size
/// of the terminal draws the screen anew.
package final class CaughtSignals {
  private let descriptor: SignalDescriptor

  package init(_ signals: [Int32]) throws(SystemError) {
    descriptor = try SignalDescriptor(signals)
  }

  package var rawValue: Int32 { descriptor.rawValue }

  package func next() -> Int32? { descriptor.next() }

  /// What a terminal, a closed window or a service manager sends to end a program.
  package static let endings: [Int32] = [SIGINT, SIGTERM, SIGHUP]
}

extension CLIEnvironment {
  /// Waits that long, or until one of the descriptors has something, which is then returned.
  static func wait(_ span: Duration, for descriptors: [Int32]) -> Int32? {
    let end = ContinuousClock.now + span
    var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while true {
      let left = max(.zero, ContinuousClock.now.duration(to: end)) / .milliseconds(1)
      let result = poll(&entries, nfds_t(entries.count), Int32(clamping: Int(left.rounded(.up))))
      if result > 0 { return entries.first { $0.revents != 0 }?.fd }
      if result == 0 || errno != EINTR { return nil }
    }
  }
}
