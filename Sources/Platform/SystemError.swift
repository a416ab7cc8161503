import Glibc

/// A system call that failed: which one, on what, and the kernel's code (errno(3)).
///
/// `operation` is written for people ("bind /run/x.sock") and must never hold anything secret: the
/// description goes to logs.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  package let operation: String
  package let code: Int32

  package init(operation: String, code: Int32) {
    self.operation = operation
    self.code = code
  }

  /// The failure of the call that was just made: errno is read here, so nothing may come between.
  package static func last(_ operation: @autoclosure () -> String) -> SystemError {
    let code = errno
    return SystemError(operation: operation(), code: code)
  }

  package var description: String {
    "\(operation): \(SystemError.text(of: code))"
  }

  /// The C library's words for a code, to stand after a colon.
  package static func text(of code: Int32) -> String {
    // Room for the longest text of any locale that is likely; a longer one is cut, not lost.
    let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
      guard let start = room.baseAddress else { return "" }
      start.initialize(repeating: 0, count: room.count)
      strerror_r(code, start, room.count - 1)
      return String(cString: start)
    }
    if text.isEmpty { return "error \(code)" }
    return text.prefix(1).lowercased() + text.dropFirst()
  }
}

/// Repeats a call that a signal interrupted (signal(7)).
func retryingInterrupts<Result: FixedWidthInteger & SignedInteger>(
  _ call: () -> Result
) -> Result {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}
