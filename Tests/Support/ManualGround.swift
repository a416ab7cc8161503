package import Execution
import Glibc
import Platform
import Synchronization

/// A ground that a test turns by hand: time stands still until ``advance(by:)``, and jobs wait, in
/// order, until ``run()`` runs them on the calling thread.
///
///     let ground = ManualGround()
///     let coordinator = SessionCoordinator(ground: ground, …)
///     let task = Task(executorPreference: ground) { try await coordinator.token(…) }
///     ground.run()                      // the task has gone as far as it can
///     ground.advance(by: .seconds(30))  // timers fire in order, jobs run after each
///     let token = try await task.value  // finished: returns at once
///
/// Works in synchronous tests and in `async` ones. Two rules:
/// - Await a task's `value` only once it has finished on the ground; awaiting one that still waits
///   for the ground hangs, as nobody turns it.
/// - Start tasks with `executorPreference: ground`. A bare `Task {}` starts on the global pool, and
///   gets here whenever it likes.
///
/// Jobs may come from other threads (a store's executor, `onCancel`); ``run(until:)`` waits for
/// those.
package final class ManualGround: Ground, @unchecked Sendable {
  // Unchecked: the inbox is locked by `mutex`, the rest is touched by the thread in `run` alone,
  // which `owner` names, or by the test between two runs.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var inbox: [UnownedJob] = []

  private let owner = Atomic<UInt>(0)
  private var timers = TimerQueue()
  private let elapsed: Locked<UInt64>
  private let wall: Locked<WallTime>

  /// Both clocks start at an arbitrary moment that is not zero.
  package init(
    now: Instant = Instant(nanoseconds: 1_000_000_000_000),
    wallTime: WallTime = WallTime(milliseconds: 1_800_000_000_000)
  ) {
    elapsed = Locked(now.nanoseconds)
    wall = Locked(wallTime)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition.initialize(to: pthread_cond_t())
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  // MARK: Turning

  /// Runs jobs until none is ready.
  package func run() {
    perform {}
  }

  /// Runs `body` on the ground, as a callback of the event loop would be (`assumeIsolated` works in
  /// it), then jobs until none is ready.
  package func perform<R>(_ body: () throws -> R) rethrows -> R {
    precondition(!isCurrent, "the ground is being turned already, further up the stack")
    let (taken, _) = owner.compareExchange(
      expected: 0, desired: UInt(pthread_self()), ordering: .acquiring)
    precondition(taken, "another thread turns the ground")
    defer { owner.store(0, ordering: .releasing) }
    let result = try body()
    drain()
    return result
  }

  /// Lets virtual time pass. Every timer that falls due on the way fires at its own moment, in
  /// order, and the jobs that it makes ready run before the next one.
  package func advance(by span: Duration) {
    run()
    let target = now.advanced(by: span)
    while let deadline = timers.nextDeadline(), deadline <= target {
      setTime(max(deadline, now))
      guard let fire = timers.takeDue(at: deadline, before: timers.horizon) else { break }
      perform(fire)
    }
    setTime(target)
  }

  /// The machine sleeps: both clocks go on, nothing runs. What fell due meanwhile is fired by the
  /// next ``advance(by:)``, be it of nothing.
  package func suspend(for span: Duration) {
    setTime(now.advanced(by: span))
  }

  /// Turns the ground until `condition` holds, waiting for jobs that other threads (a store's) will
  /// send. `condition` runs on the ground. Blocks the thread: for real executors only, and under a
  /// time limit.
  package func run(until isMet: () -> Bool) {
    while !perform({ () -> Bool in
      drain()
      return isMet()
    }) {
      pthread_mutex_lock(mutex)
      while inbox.isEmpty { pthread_cond_wait(condition, mutex) }
      pthread_mutex_unlock(mutex)
    }
  }

  private func drain() {
    while let job = next() {
      job.runSynchronously(
        isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }
  }

  private func next() -> UnownedJob? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return inbox.isEmpty ? nil : inbox.removeFirst()
  }

  // MARK: Executor

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    pthread_mutex_lock(mutex)
    inbox.append(job)
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  package var isCurrent: Bool {
    owner.load(ordering: .relaxed) == UInt(pthread_self())
  }

  package func isIsolatingCurrentContext() -> Bool? {
    isCurrent
  }

  package func checkIsolated() {
    precondition(isCurrent, "not on the manual ground")
  }

  // MARK: Ground

  package var now: Instant { Instant(nanoseconds: elapsed.withLock { $0 }) }

  package var wallTime: WallTime { wall.withLock { $0 } }

  package func schedule(
    at deadline: Instant, _ fire: @escaping @Sendable () -> Void
  ) -> TimerID {
    checkIsolated()
    return timers.schedule(at: deadline, fire)
  }

  package func cancel(_ timer: TimerID) {
    checkIsolated()
    timers.cancel(timer)
  }

  // MARK: Looking and meddling, between runs

  /// How many timers are set.
  package var timerCount: Int { timers.count }

  /// When the next timer falls due.
  package var nextDeadline: Instant? { timers.nextDeadline() }

  /// Sets the wall clock, as an administrator might; the other clock does not notice.
  package func setWallTime(_ time: WallTime) {
    wall.withLock { $0 = time }
  }

  private func setTime(_ time: Instant) {
    let span = now.duration(to: time)
    elapsed.withLock { $0 = time.nanoseconds }
    wall.withLock { $0 = $0.advanced(by: span) }
  }
}
