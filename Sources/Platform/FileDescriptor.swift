import Glibc

/// An open descriptor with one owner, who closes it exactly once. A number that is closed twice
/// closes somebody else's file; the compiler rules that out here.
package struct FileDescriptor: ~Copyable, Sendable {
  /// For calls that borrow the descriptor; never closed, never kept past the owner's life.
  package let rawValue: Int32

  /// Takes over a descriptor that nobody else will close.
  package init(owning raw: Int32) {
    rawValue = raw
  }

  deinit {
    // Not repeated on EINTR: Linux has freed the number by then, close(2).
    if rawValue >= 0 { _ = Glibc.close(rawValue) }
  }

  /// Hands the number to an owner outside Swift (a C library, an exec).
  package consuming func release() -> Int32 {
    let raw = rawValue
    discard self
    return raw
  }
}
