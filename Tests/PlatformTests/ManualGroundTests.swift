import Execution
import Platform
import TestSupport
import Testing

/// An actor on a ground, as all of the product's are.
private actor Notebook {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let ground: any Ground
  private(set) var entries: [String] = []

  init(ground: any Ground) {
    self.ground = ground
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  func note(_ entry: String) {
    entries.append(entry)
  }

  func noteLater(_ entry: String, after span: Duration) {
    _ = ground.schedule(at: ground.now.advanced(by: span)) {
      self.assumeIsolated { $0.note(entry) }
    }
  }
}

@Suite(.timeLimit(.minutes(1)))
struct ManualGroundTests {
  let ground = ManualGround()

  @Test func `an async test runs a task by hand and then awaits its value`() async {
    let notebook = Notebook(ground: ground)
    let task = Task(executorPreference: ground) {
      await notebook.note("a")
      return await notebook.entries
    }
    ground.run()
    #expect(await task.value == ["a"])
    // The test's own task still works after jobs ran inside of it.
    await Task.yield()
    let second = Task(executorPreference: ground) { await notebook.note("b") }
    ground.run()
    await second.value
    #expect(ground.perform { notebook.assumeIsolated { $0.entries } } == ["a", "b"])
  }

  @Test func `a synchronous test does the same`() {
    let notebook = Notebook(ground: ground)
    Task(executorPreference: ground) { await notebook.note("a") }
    #expect(ground.perform { notebook.assumeIsolated { $0.entries } }.isEmpty)
    #expect(ground.perform { notebook.assumeIsolated { $0.entries } } == ["a"])
  }

  @Test func `time stands still until it is advanced, and timers fire in order at their moments`() {
    let start = ground.now
    let wall = ground.wallTime
    let fired = Locked<[(String, Duration)]>([])
    let ground = ground
    ground.perform {
      for (name, milliseconds) in [("late", 300), ("first", 100), ("second", 100), ("never", 301)] {
        _ = ground.schedule(at: start.advanced(by: .milliseconds(milliseconds))) {
          fired.withLock { $0.append((name, start.duration(to: ground.now))) }
        }
      }
    }
    ground.run()
    #expect(fired.withLock { $0.isEmpty })
    ground.advance(by: .milliseconds(300))
    #expect(fired.withLock { $0.map(\.0) } == ["first", "second", "late"])
    #expect(
      fired.withLock { $0.map(\.1) } == [
        .milliseconds(100), .milliseconds(100), .milliseconds(300),
      ])
    #expect(ground.timerCount == 1)
    #expect(wall.duration(to: ground.wallTime) == .milliseconds(300))
  }

  @Test func `a sleeper wakes when its time has come, and earlier if cancelled`() async {
    let sleeper = Sleeper(ground: ground)
    let deadline = ground.now.advanced(by: .seconds(3600))
    let patient = Task(executorPreference: ground) { await sleeper.sleep(until: deadline) }
    let hasty = Task(executorPreference: ground) { await sleeper.sleep(until: deadline) }
    ground.run()
    #expect(ground.timerCount == 2)
    hasty.cancel()
    ground.run()
    #expect(await hasty.value == false)
    #expect(ground.timerCount == 1)
    ground.advance(by: .seconds(3600))
    #expect(await patient.value)
  }

  @Test func `a timer that an actor sets may touch that actor`() {
    let notebook = Notebook(ground: ground)
    ground.perform { notebook.assumeIsolated { $0.noteLater("tick", after: .seconds(1)) } }
    ground.advance(by: .milliseconds(999))
    #expect(ground.perform { notebook.assumeIsolated { $0.entries } }.isEmpty)
    ground.advance(by: .milliseconds(1))
    #expect(ground.perform { notebook.assumeIsolated { $0.entries } } == ["tick"])
  }

  @Test func `run until waits for what another executor sends back`() async {
    let executor = ThreadExecutor(name: "test-store")
    defer { executor.stop() }
    let store = Shelf(executor: executor)
    let task = Task(executorPreference: ground) { await store.take() }
    let done = Locked(false)
    Task(executorPreference: ground) {
      _ = await task.value
      done.withLock { $0 = true }
    }
    ground.run { done.withLock { $0 } }
    #expect(await task.value == 7)
  }
}

/// An actor on a thread of its own.
private actor Shelf {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let executor: ThreadExecutor

  init(executor: ThreadExecutor) {
    self.executor = executor
    unownedExecutor = executor.asUnownedSerialExecutor()
  }

  func take() -> Int { 7 }
}
