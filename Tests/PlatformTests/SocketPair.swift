import Glibc
import Platform

/// Two connected sockets, closed with the value.
final class SocketPair: Sendable {
  let near: FileDescriptor
  let far: FileDescriptor

  init(blocking: Bool = false) throws {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let flags = blocking ? 0 : Int32(SOCK_NONBLOCK.rawValue)
    let result = socketpair(AF_UNIX, type | flags, 0, &ends)
    near = FileDescriptor(owning: ends[0])
    far = FileDescriptor(owning: ends[1])
    if result != 0 { throw SystemError.last("make a pair of sockets") }
  }

  /// Makes the near end readable.
  func fill() {
    _ = write(far.rawValue, "x", 1)
  }

  func waitUntilFilled() {
    var byte: UInt8 = 0
    _ = read(near.rawValue, &byte, 1)
  }

  func hangUp() {
    _ = shutdown(far.rawValue, Int32(SHUT_RDWR))
  }
}
