import Execution
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
  let thread: LoopThread
  let loop: EventLoop
  let seen: Recorder<Int>

  init() throws {
    thread = try LoopThread()
    loop = thread.loop
    seen = Recorder(on: thread.loop)
  }

  // MARK: Jobs

  @Test func `jobs from another thread run in the order in which they came`() async {
    for number in 0..<1000 { loop.perform { [seen] in seen.noteHere(number) } }
    #expect(await seen.entries == Array(0..<1000))
  }

  @Test func `jobs from the loop's own thread run in the order in which they came`() async {
    await thread.run { [loop, seen] in
      for number in 0..<1000 { loop.perform { seen.noteHere(number) } }
    }
    #expect(await seen.entries == Array(0..<1000))
  }

  @Test func `an idle loop is woken by a job from another thread, every time`() async {
    for number in 0..<2000 {
      #expect(await thread.run { number } == number)
    }
  }

  @Test func `a job that adds jobs without end keeps neither timers nor descriptors waiting`()
    async throws
  {
    let endless = Locked(true)
    @Sendable func again() {
      if endless.withLock({ $0 }) { loop.perform { again() } }
    }
    loop.perform { again() }
    let sleeper = Sleeper(ground: loop)
    #expect(await sleeper.sleep(until: loop.now.advanced(by: .milliseconds(1))))
    endless.withLock { $0 = false }
  }

  @Test func `the loop isolates its actors on its own thread and nowhere else`() async {
    #expect(!loop.isCurrent)
    #expect(loop.isIsolatingCurrentContext() == false)
    let loop = loop
    #expect(await thread.run { loop.isCurrent })
    await Task { await seen.note(1) }.value
    #expect(await seen.entries == [1])
  }

  @Test func `child tasks of a task on the loop stay on it`() async {
    let loop = loop
    let stayed = await Task(executorPreference: loop) {
      async let child = loop.isCurrent
      return await child && loop.isCurrent
    }.value
    #expect(stayed)
  }

  @Test func `what was ready when the loop is stopped still runs`() async throws {
    let loop = try EventLoop()
    let ran = Locked(0)
    for _ in 0..<10 { loop.perform { ran.withLock { $0 += 1 } } }
    loop.stop()
    loop.run()
    #expect(ran.withLock { $0 } == 10)
  }

  @Test func `a stopped loop can run again`() throws {
    let loop = try EventLoop()
    let ran = Locked(0)
    for _ in 0..<3 {
      loop.perform {
        ran.withLock { $0 += 1 }
        loop.stop()
      }
      loop.run()
    }
    #expect(ran.withLock { $0 } == 3)
    #expect(!loop.isCurrent)
  }

  // MARK: Timers

  @Test func `timers fire by deadline, then by age, and never early`() async {
    let early = Locked(0)
    await thread.run { [loop, seen] in
      let start = loop.now
      for (number, milliseconds) in [(3, 6), (1, 2), (2, 2), (0, -5), (4, 9)] {
        let deadline = start.advanced(by: .milliseconds(milliseconds))
        _ = loop.schedule(at: deadline) {
          if loop.now < deadline { early.withLock { $0 += 1 } }
          seen.noteHere(number)
        }
      }
    }
    _ = await Sleeper(ground: loop).sleep(until: loop.now.advanced(by: .milliseconds(20)))
    #expect(await seen.entries == [0, 1, 2, 3, 4])
    #expect(early.withLock { $0 } == 0)
  }

  @Test func `a cancelled timer does not fire, not even if it was due already`() async {
    await thread.run { [loop, seen] in
      let start = loop.now
      let second = Locked<TimerID?>(nil)
      _ = loop.schedule(at: start) {
        seen.noteHere(1)
        if let timer = second.withLock({ $0 }) { loop.cancel(timer) }
      }
      second.withLock { $0 = loop.schedule(at: start) { seen.noteHere(2) } }
      let late = loop.schedule(at: start.advanced(by: .milliseconds(1))) { seen.noteHere(3) }
      loop.cancel(late)
      loop.cancel(late)
      _ = loop.schedule(at: start.advanced(by: .milliseconds(2))) { seen.noteHere(4) }
    }
    _ = await Sleeper(ground: loop).sleep(until: loop.now.advanced(by: .milliseconds(5)))
    #expect(await seen.entries == [1, 4])
  }

  @Test func `a timer that sets itself again in the past starves no job`() async {
    let gate = Gate()
    let stopped = Locked(false)
    @Sendable func tick() {
      if stopped.withLock({ $0 }) { return }
      _ = loop.schedule(at: Instant(nanoseconds: 0)) { tick() }
    }
    loop.perform { tick() }
    Task(executorPreference: loop) { await gate.wait() }
    await gate.arrived(1)
    stopped.withLock { $0 = true }
    gate.open()
  }

  @Test func `a deadline of never is set and does not fire`() async {
    await thread.run { [loop, seen] in
      _ = loop.schedule(at: .distantFuture) { seen.noteHere(1) }
      _ = loop.schedule(at: loop.now.advanced(by: .milliseconds(1))) { seen.noteHere(2) }
    }
    _ = await Sleeper(ground: loop).sleep(until: loop.now.advanced(by: .milliseconds(3)))
    #expect(await seen.entries == [2])
  }

  @Test func `a nearer deadline that is set later wakes the loop in time`() async {
    let sleeper = Sleeper(ground: loop)
    let (far, near) = (
      loop.now.advanced(by: .seconds(3600)), loop.now.advanced(by: .milliseconds(2))
    )
    let long = Task(executorPreference: loop) { await sleeper.sleep(until: far) }
    await thread.run {}
    #expect(await sleeper.sleep(until: near))
    long.cancel()
    #expect(await long.value == false)
  }

  @Test func `a sleeper that is cancelled before it sleeps returns at once`() async {
    let sleeper = Sleeper(ground: loop)
    let far = loop.now.advanced(by: .seconds(3600))
    let gate = Gate()
    let task = Task(executorPreference: loop) {
      await gate.wait()
      return await sleeper.sleep(until: far)
    }
    await gate.arrived(1)
    task.cancel()
    #expect(await task.value == false)
  }
}
