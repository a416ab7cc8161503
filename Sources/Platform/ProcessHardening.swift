import CLinux
import Glibc

/// What a process that holds secrets does first. Guards I10.
package enum ProcessHardening {
  /// No core files and no tracing by other processes of the same user; files are made private; a
  /// peer that hangs up is an error of `write`, not a deadly signal, and so is a file that may not
  /// grow (RLIMIT_FSIZE): to the store that is a full disk.
  ///
  /// Before the first thread, the first file and the first secret.
  package static func apply() throws(SystemError) {
    umask(0o077)
    ignoreBrokenPipes()
    signal(SIGXFSZ, SIG_IGN)
    guard clinux_forbid_dumps() == 0 else { throw .last("forbid core dumps") }
  }

  /// The part that a client needs too: writing to a pipe or socket whose reader has left fails with
  /// EPIPE instead of ending the process.
  package static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }
}
