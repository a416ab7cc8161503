import Glibc

/// A terminal that hands over each key at once and does not show it, until the value ends. Ctrl-C
/// stays a signal.
final class RawKeyboard {
  private let descriptor: Int32
  private var before = termios()

  /// Nil: it is no terminal.
  init?(_ descriptor: Int32) {
    self.descriptor = descriptor
    guard tcgetattr(descriptor, &before) == 0 else { return nil }
    var changed = before
    changed.c_lflag &= ~tcflag_t(ICANON | ECHO)
    guard tcsetattr(descriptor, TCSANOW, &changed) == 0 else { return nil }
  }

  deinit {
    tcsetattr(descriptor, TCSANOW, &before)
  }
}
