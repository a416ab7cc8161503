import Glibc
package import Platform

/// An event loop on a thread of its own, for one test. Stopped by `close()` or with the value.
package final class LoopThread: @unchecked Sendable {
  // Unchecked: `thread` is behind its lock.
  package let loop: EventLoop
  private let thread: Locked<SystemThread?>

  package init() throws {
    let loop = try EventLoop()
    self.loop = loop
    guard let thread = SystemThread.start({ loop.run() }) else {
      throw SystemError(operation: "start a thread", code: EAGAIN)
    }
    self.thread = Locked(thread)
  }

  deinit {
    close()
  }

  /// Stops the loop and waits for its thread, unless called on it.
  package func close() {
    guard let ending = thread.withLock({ $0.take() }) else { return }
    loop.stop()
    ending.end()
  }

  /// Runs `body` on the loop and returns what it returns. `assumeIsolated` of the loop's actors
  /// works in it.
  package func run<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await Task(executorPreference: loop) { try body() }.value
  }

  /// The same for what cannot fail.
  package func run<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
    await Task(executorPreference: loop) { body() }.value
  }
}
