import CLinux

/// What the allocator keeps of freed memory. It gives back by itself only what is at the very end of
/// its heap: after a crowd has left, the little that is still in use lies behind all that is not.
package enum ProcessMemory {
  /// Takes about a millisecond for each ten megabytes; it may be called at any time.
  package static func giveBack() { clinux_return_memory() }
}
