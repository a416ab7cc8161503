import CSodium

/// Overwrites `bytes` with zeros and empties them; the compiler may not leave the write out.
///
/// The array must be the only owner of its storage: another holder keeps the bytes, since the
/// write then goes to a copy. So move a secret's plain copy about, and never store it twice.
package func wipe(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { buffer in
    if let start = buffer.baseAddress { sodium_memzero(start, buffer.count) }
  }
  bytes = []
}

/// Overwrites memory that the caller owns with zeros.
package func wipe(_ memory: UnsafeMutableRawBufferPointer) {
  if let start = memory.baseAddress { sodium_memzero(start, memory.count) }
}

/// The same, where there may be none.
package func wipe(_ bytes: inout [UInt8]?) {
  guard var taken = bytes else { return }
  bytes = nil
  wipe(&taken)
}
