import CSodium

/// Why a secret could not be made.
package enum SecretError: Error, Equatable, Sendable {
  /// No locked memory could be had (the `memlock` limit).
  case outOfMemory
}

/// Bytes that must not leak: a token or a key. They live in memory of their own that is locked,
/// fenced by guard pages, left out of core dumps, and wiped when the value ends. The type cannot
/// be copied, printed, interpolated or encoded; the compiler refuses.
///
/// Guards I10.
package struct Secret: ~Copyable, @unchecked Sendable {
  // Unchecked: the memory has one owner and is never written after `init`.
  private let base: UnsafeMutableRawPointer
  package let count: Int

  /// Copies `bytes`; wiping the source is its owner's business.
  package init(copying bytes: some Collection<UInt8>) throws(SecretError) {
    let count = bytes.count
    // sodium_malloc aborts the process where the library was not initialised.
    guard sodium_init() >= 0, let base = sodium_malloc(max(1, count)) else {
      throw .outOfMemory
    }
    UnsafeMutableRawBufferPointer(start: base, count: count).copyBytes(from: bytes)
    sodium_mprotect_readonly(base)
    self.base = base
    self.count = count
  }

  /// Fills `count` new bytes in place, so that they never stand anywhere else.
  package init(
    count: Int, filling fill: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(SecretError) {
    guard sodium_init() >= 0, let base = sodium_malloc(max(1, count)) else {
      throw .outOfMemory
    }
    fill(UnsafeMutableRawBufferPointer(start: base, count: count))
    sodium_mprotect_readonly(base)
    self.base = base
    self.count = count
  }

  /// New random bytes from the system.
  package static func random(count: Int) throws(SecretError) -> Secret {
    try Secret(count: count) { buffer in
      if let start = buffer.baseAddress { randombytes_buf(start, buffer.count) }
    }
  }

  deinit {
    sodium_free(base)
  }

  /// The bytes, for the length of the call. Whoever copies them out wipes the copy.
  package borrowing func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  package borrowing func copy() throws(SecretError) -> Secret {
    try withBytes { (bytes) throws(SecretError) in try Secret(copying: bytes) }
  }

  /// Compares in constant time.
  package borrowing func equals(_ other: borrowing Secret) -> Bool {
    guard count == other.count else { return false }
    return withBytes { left in
      other.withBytes { right in
        guard let l = left.baseAddress, let r = right.baseAddress else { return true }
        return sodium_memcmp(l, r, left.count) == 0
      }
    }
  }
}
