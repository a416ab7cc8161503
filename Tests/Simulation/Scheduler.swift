package import Execution

/// Something that may happen from outside: an arrival, an answer, a caller that leaves. It may
/// happen in several ways, and at any time while it is pending.
struct PendingEvent {
  let id: UInt64
  let label: () -> String
  let ways: [String]
  /// It may as well never happen: time goes on without it.
  var isOptional = false
  let fire: (_ way: Int) -> Void
}

/// Holds all that is ready to run and lets a script pick what runs next. Time stands still until
/// nothing is ready and nothing is pending, and then goes on to the next timer.
///
/// One thread runs a scheduler; nothing here is locked.
final class Scheduler: @unchecked Sendable {
  // Unchecked: all of a run happens on the thread that turns it.
  struct ReadyJob {
    let job: UnownedJob
    let identity: UInt64
  }

  private struct Timer {
    let deadline: Instant
    let id: UInt64
    let identity: UInt64
    let fire: @Sendable () -> Void
  }

  var script: Script
  private(set) var lanes: [Lane] = []
  private var queues: [[ReadyJob]] = []
  private var timers: [Timer] = []
  private var nextTimer: UInt64 = 0
  private(set) var events: [PendingEvent] = []
  private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
  private(set) var wallTime = WallTime(milliseconds: 1_800_000_000_000)
  private(set) var steps = 0
  /// Takes no timers and no events any more: the rest is only let run out.
  var isDraining = false
  /// Tells of each job, too.
  var isTracing = false
  /// Told of each step, for the story.
  var narrate: ((String) -> Void)?

  // Names of what happened, by cause: two runs that did the same in each lane, in whatever order
  // between the lanes, are in the same state.
  private var chains: [UInt64] = []
  private var cause: UInt64 = 0
  private var effects: UInt64 = 0

  init(script: Script) {
    self.script = script
  }

  func makeLane(_ name: String) -> Lane {
    let lane = Lane(scheduler: self, index: lanes.count, name: name)
    lanes.append(lane)
    queues.append([])
    chains.append(UInt64(lanes.count))
    return lane
  }

  func push(_ job: UnownedJob, lane: Int) {
    queues[lane].append(ReadyJob(job: job, identity: nextIdentity()))
  }

  private func nextIdentity() -> UInt64 {
    effects += 1
    return Hash.mix(cause, effects)
  }

  // MARK: Timers

  func schedule(at deadline: Instant, _ fire: @escaping @Sendable () -> Void) -> TimerID {
    nextTimer += 1
    guard !isDraining else { return TimerID(rawValue: nextTimer) }
    let timer = Timer(
      deadline: deadline, id: nextTimer, identity: nextIdentity(), fire: fire)
    let place = timers.firstIndex { $0.deadline > deadline } ?? timers.count
    timers.insert(timer, at: place)
    return TimerID(rawValue: nextTimer)
  }

  func cancel(_ timer: TimerID) {
    timers.removeAll { $0.id == timer.rawValue }
  }

  // MARK: Events

  /// Nothing is ready: all waits for time or for the outside.
  var isQuiet: Bool { queues.allSatisfy(\.isEmpty) }

  func add(_ event: PendingEvent) {
    if !isDraining { events.append(event) }
  }

  func remove(event id: UInt64) { events.removeAll { $0.id == id } }

  /// A choice inside a step, in the lane that runs.
  func choose(_ count: Int, lane: Int, _ label: @autoclosure () -> String) -> Int {
    guard count > 1, !isDraining else { return 0 }
    let way = script.next(count, weights: nil)
    chains[lane] = Hash.mix(chains[lane], UInt64(way) &+ 77)
    if way > 0 { narrate?(label()) }
    return way
  }

  // MARK: Turning

  enum Turn {
    case stepped, idle
    /// The state was seen before: all that can follow has been explored.
    case seen
  }

  /// One step: the script's choice of what is ready, or the next timer up to `horizon`.
  func turn(horizon: Instant, seen: SeenStates?) -> Turn {
    var count = 0
    for queue in queues where !queue.isEmpty { count += 1 }
    for event in events where !event.isOptional { count += event.ways.count }
    let isTimersTurn = count == 0
    if isTimersTurn {
      guard let timer = timers.first, timer.deadline <= horizon else { return .idle }
      count = 1
    }
    for event in events where event.isOptional { count += event.ways.count }
    if let seen, count > 1, script.isBeyondPrefix, !seen.insert(signature) { return .seen }
    let weights = script.isRandom && count > 1 ? weights(isTimersTurn) : nil
    let choice = count > 1 ? script.next(count, weights: weights) : 0
    steps += 1
    carryOut(choice, isTimersTurn)
    return .stepped
  }

  private func carryOut(_ choice: Int, _ isTimersTurn: Bool) {
    var choice = choice
    if isTimersTurn {
      if choice == 0 { return fireNextTimer() }
      choice -= 1
    }
    for lane in queues.indices where !queues[lane].isEmpty {
      if choice == 0 { return runFirst(lane) }
      choice -= 1
    }
    for optional in [false, true] {
      for event in events where event.isOptional == optional {
        if choice < event.ways.count { return happen(event, choice) }
        choice -= event.ways.count
      }
    }
  }

  private func happen(_ event: PendingEvent, _ way: Int) {
    remove(event: event.id)
    enter(lane: 0, Hash.mix(event.id, UInt64(way) &+ 1))
    narrate?(event.label() + (event.ways.count > 1 ? ": " + event.ways[way] : ""))
    event.fire(way)
  }

  /// For random orders: which source each choice belongs to, so that priorities go by source.
  private func weights(_ isTimersTurn: Bool) -> [UInt64] {
    var sources: [UInt64] = isTimersTurn ? [15] : []
    for lane in queues.indices where !queues[lane].isEmpty { sources.append(UInt64(lane)) }
    for optional in [false, true] {
      for event in events where event.isOptional == optional {
        for _ in event.ways { sources.append(event.id &+ 16) }
      }
    }
    return sources
  }

  private func runFirst(_ lane: Int) {
    let ready = queues[lane].removeFirst()
    if isTracing { narrate?("      [\(lanes[lane].name): \(ready.job)]") }
    enter(lane: lane, ready.identity)
    lanes[lane].run(ready.job)
  }

  private func fireNextTimer() {
    guard !timers.isEmpty else { return }
    let timer = timers.removeFirst()
    if timer.deadline > now {
      wallTime = wallTime.advanced(by: now.duration(to: timer.deadline))
      now = timer.deadline
      narrate?("… \(Double(now.nanoseconds - 1_000_000_000_000) / 1e9) s")
    }
    enter(lane: 0, timer.identity)
    timer.fire()
  }

  private func enter(lane: Int, _ identity: UInt64) {
    chains[lane] = Hash.mix(chains[lane], identity)
    cause = chains[lane]
    effects = 0
  }

  private var signature: UInt64 {
    var hash: UInt64 = now.nanoseconds
    for chain in chains { hash = Hash.mix(hash, chain) }
    for queue in queues {
      hash = Hash.mix(hash, UInt64(queue.count))
      for ready in queue { hash = Hash.mix(hash, ready.identity) }
    }
    for event in events { hash = Hash.mix(hash, event.id) }
    return hash
  }

  /// Lets all tasks end: runs what is ready, and each timer that is set now once.
  func drain() {
    isDraining = true
    events = []
    runReady()
    let last = timers
    timers = []
    for timer in last {
      timer.fire()
      runReady()
    }
    isDraining = false
  }

  private func runReady() {
    while let lane = queues.indices.first(where: { !queues[$0].isEmpty }) { runFirst(lane) }
  }
}

/// One executor: the loop or the store's thread. Its jobs run in the order in which they came.
package final class Lane: Ground, @unchecked Sendable {
  // Unchecked: see `Scheduler`. Lanes live no longer than their scheduler's run.
  private unowned let scheduler: Scheduler
  let index: Int
  let name: String

  init(scheduler: Scheduler, index: Int, name: String) {
    self.scheduler = scheduler
    self.index = index
    self.name = name
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    scheduler.push(UnownedJob(job), lane: index)
  }

  func run(_ job: UnownedJob) {
    if index % 2 == 0 {
      job.runSynchronously(
        isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    } else {
      job.runSynchronously(on: asUnownedSerialExecutor())
    }
  }

  package func isIsolatingCurrentContext() -> Bool? { true }
  package func checkIsolated() {}

  package var now: Instant { scheduler.now }
  package var wallTime: WallTime { scheduler.wallTime }

  package func schedule(
    at deadline: Instant, _ fire: @escaping @Sendable () -> Void
  ) -> TimerID {
    scheduler.schedule(at: deadline, fire)
  }

  package func cancel(_ timer: TimerID) { scheduler.cancel(timer) }
}

enum Hash {
  static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
    var x = (a ^ (b &+ 0x9E37_79B9_7F4A_7C15)) &* 0xBF58_476D_1CE4_E5B9
    x ^= x >> 27
    x = (x &+ (a << 6) &+ b) &* 0x94D0_49BB_1331_11EB
    return x ^ (x >> 31)
  }
}

/// States that need not be explored again.
final class SeenStates {
  private var states: Set<UInt64> = []
  var count: Int { states.count }
  /// False if it was there already.
  func insert(_ state: UInt64) -> Bool { states.insert(state).inserted }
}
