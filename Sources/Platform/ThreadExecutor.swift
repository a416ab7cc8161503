import CLinux
import Glibc

/// A serial executor with one thread of its own, for actors whose calls block (SQLite): no fsync
/// then holds up the loop. First in, first out.
///
/// The thread keeps the executor alive until ``stop()``, which its owner must call.
package final class ThreadExecutor: SerialExecutor, @unchecked Sendable {
  // Unchecked: `jobs`, `stopped` and `thread` are touched with `mutex` held only.
  // On the heap by hand, since the two must keep their addresses.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let name: String
  private var jobs: [UnownedJob] = []
  private var stopped = false
  private var thread: SystemThread?

  /// `name` is what top and gdb show, up to 15 bytes.
  package init(name: String) {
    self.name = name
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

  /// The first job starts the thread: an executor that is never used costs none, and one that
  /// cannot have a thread tries again with the next job.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    jobs.append(job)
    if thread == nil, !stopped { thread = start() }
    pthread_cond_signal(condition)
  }

  /// Runs what is queued, then ends the thread and waits for it. Jobs that come later never run. On
  /// the executor's own thread it does not wait.
  package func stop() {
    pthread_mutex_lock(mutex)
    let ending = stopped ? nil : thread
    stopped = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
    ending?.end()
  }

  package func isIsolatingCurrentContext() -> Bool? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return thread?.isCurrent ?? false
  }

  package func checkIsolated() {
    precondition(isIsolatingCurrentContext() == true, "not on the thread of \(name)")
  }

  private func start() -> SystemThread? {
    SystemThread.start { [self] in
      name.withCString { clinux_name_thread($0) }
      while let batch = next() {
        for job in batch { job.runSynchronously(on: asUnownedSerialExecutor()) }
      }
    }
  }

  /// Waits for jobs; nil once stopped and empty.
  private func next() -> [UnownedJob]? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while jobs.isEmpty {
      if stopped { return nil }
      pthread_cond_wait(condition, mutex)
    }
    let batch = jobs
    jobs.removeAll()
    return batch
  }
}
