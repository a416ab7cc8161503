import Execution
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

/// Makes one loop the executor of all that names none: bare tasks, detached ones, the main actor,
/// `Task.sleep`. The runtime's own pool of threads is then never started, and a slip (a child task
/// without a preference) costs order at most, not a data race with what the loop owns.
///
/// All of this is the compiler's experimental interface (Swift 6.3), which is why it stands alone in
/// this file. The program must be right without it.
package enum RuntimeExecutors {
  /// First thing in a synchronous main, before anything concurrent; once.
  package static func install(_ loop: EventLoop) {
    installed.withLock { $0 = LoopExecutor(loop: loop) }
    _createExecutors(factory: LoopFactory.self)
  }
}

/// The runtime asks a type, not a value, so the loop is kept here.
private let installed = Locked<LoopExecutor?>(nil)

private struct LoopFactory: ExecutorFactory {
  static var mainExecutor: any MainExecutor { executor }
  static var defaultExecutor: any TaskExecutor { executor }

  private static var executor: LoopExecutor {
    guard let executor = installed.withLock({ $0 }) else {
      // The type is private and `install` keeps the loop first: no peer, file or kernel leads here.
      preconditionFailure("the factory is handed to the runtime by install alone")
    }
    return executor
  }
}

/// The loop as the runtime wants it. A type of its own, so that the loop is not tied to the
/// experimental protocols.
private final class LoopExecutor: MainExecutor, TaskExecutor, SchedulingExecutor {
  private let loop: EventLoop

  init(loop: EventLoop) {
    self.loop = loop
  }

  func run() { loop.run() }

  func stop() { loop.stop() }

  func enqueue(_ job: consuming ExecutorJob) {
    loop.enqueue(job)
  }

  func isIsolatingCurrentContext() -> Bool? {
    loop.isCurrent
  }

  func checkIsolated() {
    loop.checkIsolated()
  }

  /// Serves `Task.sleep`. The clocks of the standard library count in `Duration`; no other is used,
  /// and a job of one would not wait.
  func enqueue<C: Clock>(
    _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
  ) {
    let job = UnownedJob(job)
    let loop = loop
    let span = delay as? Swift.Duration ?? .zero
    let deadline = loop.now.advanced(by: span)
    let schedule = { @Sendable in _ = loop.schedule(at: deadline) { loop.enqueue(job) } }
    if loop.isCurrent { schedule() } else { loop.perform(schedule) }
  }
}
