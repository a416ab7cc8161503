import CLinux
package import Execution
import Glibc
import Synchronization

/// The one loop of a program: an executor for actors and tasks, readiness of descriptors by
/// epoll(7), timers by one timerfd on CLOCK_BOOTTIME. It runs on the thread that calls ``run()``.
///
/// Order: jobs run first in, first out, however they come; those from the loop's own thread are
/// appended without a lock, others go through an inbox and wake the loop by an eventfd. One round
/// is: the jobs that are ready, the timers that are due, then the descriptors; so none of the three
/// can starve the others.
///
/// What is marked "on the loop" traps elsewhere. A program sets itself up inside
/// ``perform(_:)``, before or after ``run()`` starts.
package final class EventLoop: Ground, @unchecked Sendable {
  // Unchecked: what other threads touch is atomic or `Locked`; all else belongs to the loop's own
  // thread, and the entry points that touch it check that.

  /// What a descriptor is ready for, or is watched for.
  package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// Both ends closed, or an error: reported whatever is watched. As an interest it also asks for
    /// a peer that has only stopped sending (EPOLLRDHUP).
    package static let hangup = Readiness(rawValue: 4)
  }

  private enum Work {
    case job(UnownedJob)
    case call(@Sendable () -> Void)
  }

  private struct Inbox {
    var work: [Work] = []
    var rung = false
  }

  private struct Watch {
    let serial: UInt32
    var interest: Readiness
    let handler: @Sendable (Readiness) -> Void

    /// What epoll reports back: the number, and which registration of that number.
    func mark(_ descriptor: Int32) -> UInt64 {
      UInt64(serial) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }
  }

  private static let wakeMark = UInt64.max
  private static let timerMark = UInt64.max - 1
  /// Jobs that only make more jobs cannot keep a stopped loop from ending.
  private static let roundsAfterStop = 1000

  private let epoll: FileDescriptor
  private let wake: FileDescriptor
  private let timer: FileDescriptor
  /// The thread that runs the loop; zero while none does. Only that thread ever finds itself here,
  /// so no ordering is needed.
  private let owner = Atomic<UInt>(0)
  private let stopping = Atomic<Bool>(false)
  private let inbox = Locked(Inbox())

  private var ready: [Work] = []
  private var timers = TimerQueue()
  private var armed: Instant?
  /// A timer was added, removed or reported: until then none can be due, and the timerfd is set
  /// right, so that a round without timers does not look at them.
  private var mayBeDue = true
  private var mayArm = true
  /// By the descriptor's number: the kernel gives out the lowest that is free.
  private var watches: [Watch?] = []
  private var nextSerial: UInt32 = 0

  package init() throws(SystemError) {
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw .last("create an epoll") }
    self.epoll = FileDescriptor(owning: epoll)
    let wake = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard wake >= 0 else { throw .last("create an eventfd") }
    self.wake = FileDescriptor(owning: wake)
    let timer = timerfd_create(
      CLOCK_BOOTTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
    guard timer >= 0 else { throw .last("create a timerfd") }
    self.timer = FileDescriptor(owning: timer)
    try control(EPOLL_CTL_ADD, wake, EPOLLIN.rawValue, EventLoop.wakeMark)
    try control(EPOLL_CTL_ADD, timer, EPOLLIN.rawValue, EventLoop.timerMark)
  }

  // MARK: Running

  /// Runs on the calling thread until ``stop()``. What is ready by then is finished first.
  package func run() {
    let (taken, _) = owner.compareExchange(
      expected: 0, desired: UInt(pthread_self()), ordering: .relaxed)
    precondition(taken, "the loop is running already")
    defer { owner.store(0, ordering: .relaxed) }
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 256) { events in
      var batch: [Work] = []
      while !stopping.load(ordering: .acquiring) {
        runReady(&batch)
        fireDueTimers()
        dispatch(events, wait: ready.isEmpty)
      }
      for _ in 0..<EventLoop.roundsAfterStop {
        takeInbox()
        if ready.isEmpty { break }
        runReady(&batch)
      }
    }
    stopping.store(false, ordering: .releasing)
  }

  /// Ends ``run()``, from any thread. A job that comes after the end waits for the next `run()`.
  package func stop() {
    stopping.store(true, ordering: .releasing)
    ring()
  }

  /// Whether the caller is on the loop's thread.
  package var isCurrent: Bool {
    owner.load(ordering: .relaxed) == UInt(pthread_self())
  }

  /// Runs `body` on the loop, in its turn; from any thread, also before ``run()``. No task is made
  /// for it: one that is given this executor goes through the queue twice, since starting it and
  /// entering its function count as two.
  package func perform(_ body: @escaping @Sendable () -> Void) {
    add(.call(body))
  }

  private func runReady(_ batch: inout [Work]) {
    swap(&batch, &ready)
    for work in batch {
      switch work {
      case .job(let job):
        job.runSynchronously(
          isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
      case .call(let body):
        body()
      }
    }
    batch.removeAll(keepingCapacity: true)
  }

  // MARK: Executor

  package func enqueue(_ job: consuming ExecutorJob) {
    add(.job(UnownedJob(job)))
  }

  private func add(_ work: Work) {
    if isCurrent {
      ready.append(work)
      return
    }
    let mustRing = inbox.withLock { inbox in
      inbox.work.append(work)
      defer { inbox.rung = true }
      return !inbox.rung
    }
    if mustRing { ring() }
  }

  package func isIsolatingCurrentContext() -> Bool? {
    isCurrent
  }

  package func checkIsolated() {
    precondition(isCurrent, "not on the event loop's thread")
  }

  /// Fails only when the counter is full, and then the loop is awake already.
  private func ring() {
    eventfd_write(wake.rawValue, 1)
  }

  private func takeInbox() {
    inbox.withLock { inbox in
      ready.append(contentsOf: inbox.work)
      inbox.work.removeAll(keepingCapacity: true)
      inbox.rung = false
    }
  }

  // MARK: Timers

  package var now: Instant { SystemClock.now }

  package var wallTime: WallTime { SystemClock.wallTime }

  /// On the loop. Timers of one deadline fire in the order of scheduling; one whose deadline has
  /// passed fires in the next round.
  package func schedule(
    at deadline: Instant, _ fire: @escaping @Sendable () -> Void
  ) -> TimerID {
    checkIsolated()
    noteTimers()
    return timers.schedule(at: deadline, fire)
  }

  /// On the loop. A cancelled timer never fires; an unknown one is ignored.
  package func cancel(_ timer: TimerID) {
    checkIsolated()
    noteTimers()
    timers.cancel(timer)
  }

  private func noteTimers() {
    mayBeDue = true
    mayArm = true
  }

  private func fireDueTimers() {
    guard mayBeDue else { return }
    mayBeDue = false
    mayArm = true
    if timers.count == 0 { return }
    let now = SystemClock.now
    let horizon = timers.horizon
    while let fire = timers.takeDue(at: now, before: horizon) { fire() }
  }

  /// Sets the timerfd to the first deadline, if it is set to another one.
  private func arm() {
    guard mayArm else { return }
    mayArm = false
    let next = timers.nextDeadline()
    if next == armed { return }
    armed = next
    var setting = itimerspec()
    if let next, next != .distantFuture {
      // Zero would disarm it, timerfd_create(2).
      let nanoseconds = max(1, next.nanoseconds)
      setting.it_value.tv_sec = time_t(nanoseconds / 1_000_000_000)
      setting.it_value.tv_nsec = Int(nanoseconds % 1_000_000_000)
    }
    timerfd_settime(timer.rawValue, Int32(TFD_TIMER_ABSTIME), &setting, nil)
  }

  // MARK: Descriptors

  /// On the loop. Calls `handler` on the loop as long as the descriptor is ready (level-triggered).
  /// The caller keeps the descriptor open until ``unwatch(_:)``. A handler may unwatch itself or
  /// any other; whatever was already reported for what is unwatched is dropped, even if the number
  /// has been used again since.
  package func watch(
    _ descriptor: Int32, for interest: Readiness,
    _ handler: @escaping @Sendable (Readiness) -> Void
  ) throws(SystemError) {
    checkIsolated()
    guard descriptor >= 0, watch(of: descriptor) == nil else {
      throw SystemError(
        operation: "watch descriptor \(descriptor)", code: descriptor < 0 ? EBADF : EEXIST)
    }
    nextSerial &+= 1
    let watch = Watch(serial: nextSerial, interest: interest, handler: handler)
    if !interest.isEmpty {
      try control(EPOLL_CTL_ADD, descriptor, interest.mask, watch.mark(descriptor))
    }
    while watches.count <= Int(descriptor) { watches.append(nil) }
    watches[Int(descriptor)] = watch
  }

  private func watch(of descriptor: Int32) -> Watch? {
    watches.indices.contains(Int(descriptor)) ? watches[Int(descriptor)] : nil
  }

  /// On the loop. An empty interest is silent: not even a hang-up is reported until the next
  /// update.
  package func update(_ descriptor: Int32, for interest: Readiness) throws(SystemError) {
    checkIsolated()
    guard let watch = watch(of: descriptor) else {
      throw SystemError(operation: "update descriptor \(descriptor)", code: ENOENT)
    }
    if watch.interest == interest { return }
    // A hung-up descriptor is reported even to an empty mask, so silence means leaving the set.
    let operation =
      watch.interest.isEmpty
      ? EPOLL_CTL_ADD : interest.isEmpty ? EPOLL_CTL_DEL : EPOLL_CTL_MOD
    try control(operation, descriptor, interest.mask, watch.mark(descriptor))
    watches[Int(descriptor)]?.interest = interest
  }

  /// On the loop. The handler is not called again. An unknown descriptor is ignored.
  package func unwatch(_ descriptor: Int32) {
    checkIsolated()
    guard let watch = watch(of: descriptor) else { return }
    watches[Int(descriptor)] = nil
    if watch.interest.isEmpty { return }
    // Fails if a C library has closed it first; then it has left the set by itself.
    try? control(EPOLL_CTL_DEL, descriptor, 0, 0)
  }

  private func control(
    _ operation: Int32, _ descriptor: Int32, _ mask: UInt32, _ mark: UInt64
  ) throws(SystemError) {
    var event = epoll_event(events: mask, data: epoll_data_t(u64: mark))
    guard epoll_ctl(epoll.rawValue, operation, descriptor, &event) == 0 else {
      throw .last("watch descriptor \(descriptor)")
    }
  }

  private func dispatch(_ events: UnsafeMutableBufferPointer<epoll_event>, wait: Bool) {
    arm()
    let count = epoll_wait(
      epoll.rawValue, events.baseAddress, Int32(events.count), wait ? -1 : 0)
    // Interrupted by a signal or a debugger. Nothing else can fail on the loop's own descriptor.
    guard count > 0 else { return }
    for index in 0..<Int(count) {
      let event = events[index]
      switch event.data.u64 {
      case EventLoop.wakeMark:
        // Emptied before the inbox is taken: a ring that comes between only wakes once too often.
        var rings: eventfd_t = 0
        eventfd_read(wake.rawValue, &rings)
        takeInbox()
      case EventLoop.timerMark:
        var expirations: UInt64 = 0
        read(timer.rawValue, &expirations, 8)
        armed = nil
        noteTimers()
      case let mark:
        let descriptor = Int32(truncatingIfNeeded: mark)
        guard let watch = watch(of: descriptor), watch.mark(descriptor) == mark else { continue }
        watch.handler(Readiness(mask: event.events))
      }
    }
  }
}

extension EventLoop.Readiness {
  fileprivate var mask: UInt32 {
    var mask: UInt32 = 0
    if contains(.readable) { mask |= EPOLLIN.rawValue }
    if contains(.writable) { mask |= EPOLLOUT.rawValue }
    if contains(.hangup) { mask |= EPOLLRDHUP.rawValue }
    return mask
  }

  fileprivate init(mask: UInt32) {
    self = []
    if mask & EPOLLIN.rawValue != 0 { insert(.readable) }
    if mask & EPOLLOUT.rawValue != 0 { insert(.writable) }
    if mask & (EPOLLHUP.rawValue | EPOLLERR.rawValue | EPOLLRDHUP.rawValue) != 0 { insert(.hangup) }
  }
}
