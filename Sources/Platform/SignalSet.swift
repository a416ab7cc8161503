// Both: the headers that CLinux includes define the set again, and the compiler gives it to
// whichever module was built first. Only this file makes one, so that no other depends on it.
import CLinux
import Glibc

/// Sets of signals for the calls that take one: sigsetops(3).
enum SignalSet {
  static func of(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
  }

  static var everySignal: sigset_t {
    var set = sigset_t()
    sigfillset(&set)
    return set
  }
}
