import Glibc
import Platform

/// A port where no further connection comes up: the queue is full, so the kernel answers no more.
final class MuteListener: Sendable {
  let port: UInt16
  private let descriptors: [Int32]

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let size = length
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(listener, generic, size) == 0 && listen(listener, 0) == 0
          && getsockname(listener, generic, &length) == 0
      }
    }
    guard bound else { throw SystemError(operation: "listen", code: errno) }
    port = UInt16(bigEndian: address.sin_port)
    // Two fill the queue of length zero for good; one more makes sure.
    descriptors =
      [listener]
      + (0..<3).map { _ in
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        _ = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, size) }
        }
        return client
      }
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }
}
