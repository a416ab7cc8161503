package import Testing

/// Runs each test (and every argument) on a thread of its own, for tests that block while they wait
/// for processes or sockets: the pool that all tests share has one thread for each core, and every
/// one that blocks holds up hundreds of others.
package struct OwnThreadTrait: TestTrait, SuiteTrait, TestScoping {
  package var isRecursive: Bool { true }

  @concurrent
  package func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let thread = try LoopThread()
    defer { thread.close() }
    try await withTaskExecutorPreference(thread.loop) { try await function() }
  }
}

extension Trait where Self == OwnThreadTrait {
  package static var ownThread: Self { Self() }
}
