import Glibc

/// One read or write on a non-blocking stream socket, with errno turned into what it means here.
enum SocketIO {
  enum Received {
    case bytes([UInt8])
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

  static func receive(from descriptor: Int32, atMost count: Int) -> Received {
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      repeat {
        result = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
      } while result < 0 && errno == EINTR
      if result < 0 { result = errno == EAGAIN ? -1 : -2 }
      initialized = max(0, result)
    }
    return switch result {
    case -2: .broken
    case -1: .nothing
    case 0: .end
    default: .bytes(bytes)
    }
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
