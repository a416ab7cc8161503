import Glibc
import Platform

/// A TCP port of the loopback address that nothing listened on a moment ago. Something else may take
/// it first, so prefer a server that binds port 0 itself and tells its choice.
package enum FreePort {
  package static func find() throws -> UInt16 {
    try RefusingPort().number
  }
}

/// A TCP port of the loopback address at which nobody listens, and nobody can as long as this lives.
package final class RefusingPort: Sendable {
  package let number: UInt16
  private let descriptor: FileDescriptor

  package init() throws {
    let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard raw >= 0 else { throw SystemError.last("create a socket") }
    let descriptor = FileDescriptor(owning: raw)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let bound = bind(descriptor.rawValue, address, size)
        return bound == 0 ? getsockname(descriptor.rawValue, address, &size) : bound
      }
    }
    guard result == 0 else { throw SystemError.last("bind a loopback port") }
    number = UInt16(bigEndian: address.sin_port)
    self.descriptor = descriptor
  }
}
