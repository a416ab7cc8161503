import Glibc

/// What the kernel writes to, one for all connections of a server: what was read is taken over
/// before the next read.
struct ReceiveBuffer: ~Copyable {
  // By hand, since an array would have to be filled before the kernel may write to it.
  let bytes: UnsafeMutableRawBufferPointer

  init(count: Int) {
    bytes = .allocate(byteCount: max(1, count), alignment: 16)
  }

  deinit { bytes.deallocate() }

  /// Hands over what was read, and wipes it: the buffer outlives every call, and an import's tokens
  /// must not stand in it until something is read over them (I10).
  func take(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    let read = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
    body(UnsafeRawBufferPointer(read))
    read.initializeMemory(as: UInt8.self, repeating: 0)
  }
}

/// One read or write on a non-blocking stream socket, with errno turned into what it means here.
enum SocketIO {
  enum Received {
    /// This many, at the beginning of the buffer.
    case bytes(Int)
    /// The peer has ended its sending side.
    case end
    case nothing
    case broken
  }

  enum Sent {
    case bytes(Int)
    case nothing
    /// The peer is gone (EPIPE, ECONNRESET).
    case broken
  }

  static func receive(
    from descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
  ) -> Received {
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .nothing
      default: return .broken
      }
    }
  }

  /// memchr(3) and memcmp(3): every byte that comes in is looked at by them, many at a time.
  static func firstNUL(in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress, let found = memchr(start, 0, bytes.count) else {
      return nil
    }
    return UnsafeRawPointer(found) - start
  }

  static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    guard let left = left.baseAddress, let start = right.baseAddress else { return true }
    return memcmp(left, start, right.count) == 0
  }

  static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Sent {
    // Without MSG_NOSIGNAL a client that has gone would end the process by SIGPIPE, send(2).
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    while true {
      let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
      if count >= 0 { return .bytes(count) }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .nothing
      default: return .broken
      }
    }
  }
}
