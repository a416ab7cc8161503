import Execution
import Glibc
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ThreadExecutorTests {
  @Test func `jobs run in order, all on one thread that is the executor's`() async {
    let executor = ThreadExecutor(name: "test-in-order")
    defer { executor.stop() }
    let threads = Recorder<UInt>(on: executor)
    for _ in 0..<100 { await threads.note(UInt(pthread_self())) }
    let numbers = Recorder<Int>(on: executor)
    for number in 0..<1000 { await numbers.note(number) }
    #expect(await numbers.entries == Array(0..<1000))
    #expect(executor.isIsolatingCurrentContext() == false)
  }

  @Test func `an actor on the loop calls one on the thread and comes back to the loop`()
    async throws
  {
    let thread = try LoopThread()
    let executor = ThreadExecutor(name: "test-hop")
    defer { executor.stop() }
    let loop = thread.loop
    let store = Recorder<Bool>(on: executor)
    let back = await Task(executorPreference: loop) {
      await store.record { loop.isCurrent || executor.isIsolatingCurrentContext() != true }
      return loop.isCurrent
    }.value
    #expect(back)
    #expect(await store.entries == [false])
  }

  @Test func `what is queued when a job stops the executor still runs`() async throws {
    let executor = ThreadExecutor(name: "test-stop")
    let seen = Recorder<Int>(on: executor)
    let pair = try SocketPair(blocking: true)
    // Immediate tasks queue their jobs here and now; the first holds the thread meanwhile.
    let first = Task.immediate {
      await seen.record {
        pair.waitUntilFilled()
        executor.stop()
        return 1
      }
    }
    let second = Task.immediate {
      await seen.note(2)
      return await seen.entries
    }
    pair.fill()
    await first.value
    #expect(await second.value == [1, 2])
  }

  @Test func `stopping twice, and stopping what never ran, does nothing`() async {
    let executor = ThreadExecutor(name: "test-idle")
    executor.stop()
    executor.stop()
    let used = ThreadExecutor(name: "test-used")
    await Recorder<Int>(on: used).note(1)
    used.stop()
    used.stop()
  }
}

extension Recorder {
  /// Evaluates on the actor's executor.
  func record(_ entry: @Sendable () -> Entry) {
    assertIsolated()
    note(entry())
  }
}
