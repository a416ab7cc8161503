import Execution
import Glibc
import TestSupport
import Testing

@testable import Platform

@Suite(.timeLimit(.minutes(1)))
struct NetworkWatchTests {
  @Test func `a burst of changes is told once, when it is over`() async throws {
    let thread = try LoopThread()
    let loop = thread.loop
    let told = Gate()
    let count = Locked(0)
    var ends: [Int32] = [0, 0]
    try #require(
      socketpair(
        AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0,
        &ends) == 0)
    let (far, near) = (ends[0], ends[1])
    defer { close(far) }
    let watch = try await thread.run {
      try NetworkWatch(loop: loop, descriptor: FileDescriptor(owning: near)) {
        count.withLock { $0 += 1 }
        told.open()
      }
    }
    for _ in 0..<20 { #expect(write(far, "change", 6) == 6) }
    await told.wait()
    #expect(count.withLock { $0 } == 1)
    await thread.run {
      watch.cancel()
      watch.cancel()
    }
    // A program that another test is starting holds a copy of every descriptor until it runs.
    while write(far, "change", 6) == 6 || errno == EAGAIN { await Task.yield() }
    #expect(errno == ECONNREFUSED || errno == ECONNRESET)
  }

  @Test func `the kernel's own messages can be listened to`() async throws {
    let thread = try LoopThread()
    let loop = thread.loop
    await thread.run {
      // A sandbox may have no such sockets; then that is what is said.
      do throws(SystemError) {
        try NetworkWatch(loop: loop) {}.cancel()
      } catch {
        #expect(error.operation == "watch the network")
      }
    }
  }
}
