import BrewlogAPI
import Execution
import JSON
import Platform
import TestSupport
import Testing

@testable import Daemon
@testable import Session

/// Numbers, order, resuming, and what happens to who does not keep up.
@Suite(.timeLimit(.minutes(1)))
struct EventHubTests {
  /// Keeps what it is given, or fails.
  private final class MemoryJournal: EventJournal {
    let kept = Locked<[EventRecord]>([])
    let fails = Locked(false)
    /// Holds what is written until it is opened.
    let gate = Locked<Gate?>(nil)

    func lastSequence() async throws(StoreError) -> Int64 {
      kept.withLock { $0.last?.sequence ?? 0 }
    }

    func append(_ events: [EventRecord]) async throws(StoreError) {
      await gate.withLock { $0 }?.wait()
      if fails.withLock({ $0 }) { throw .full }
      kept.withLock { $0 += events }
    }

    func newest(limit: Int) async throws(StoreError) -> [EventRecord] {
      kept.withLock { $0.suffix(limit).reversed() }
    }
  }

  /// Takes events until it is told to take no more.
  private final class Watcher: Sendable {
    let seen = Locked<[Event]>([])
    let room = Locked(Int.max)
    let end = Locked<EventHub.End?>(nil)

    var sequences: [Int] { seen.withLock { $0.map(\.sequence) } }
    var kinds: [String] { seen.withLock { $0.map(\.kind.name) } }

    var hasEnded: Bool { end.withLock { $0 != nil } }

    /// The last number before the one that it could not take.
    var tooSlowAfter: Int64? {
      if case .tooSlow(let last) = end.withLock({ $0 }) { last } else { nil }
    }

    var take: EventHub.Send {
      { text in
        let hasRoom = self.room.withLock { room in
          defer { room -= 1 }
          return room > 0
        }
        guard hasRoom, let reply = try? JSONText.decode(WatchReply.self, from: text) else {
          return false
        }
        self.seen.withLock { $0.append(reply.event) }
        return true
      }
    }
  }

  private final class Bench: Sendable {
    let ground = ManualGround()
    let journal: MemoryJournal
    let hub: EventHub

    init(journal: MemoryJournal = MemoryJournal(), restored: EventRecord? = nil) {
      self.journal = journal
      hub = EventHub(ground: ground, journal: journal)
      let hub = hub
      Task(executorPreference: ground) { try await hub.start(restored: restored) }
      ground.run()
    }

    func post(_ count: Int = 1, _ kind: String = "refreshStarted") {
      ground.perform {
        hub.assumeIsolated { hub in
          for _ in 0..<count { hub.post(kind, generation: Generation(1)) }
        }
      }
    }

    @discardableResult
    func watch(after sequence: Int64? = nil, _ watcher: Watcher) -> Task<Void, Never> {
      let state = EventRecord(
        sequence: 0, at: ground.wallTime, kind: "signedIn", generation: Generation(1))
      let hub = hub
      let task = Task(executorPreference: ground) {
        let end = await hub.watch(after: sequence, state: state, send: watcher.take)
        watcher.end.withLock { $0 = end }
      }
      ground.run()
      return task
    }

    /// Set once the call has returned.
    func record() -> Locked<Bool> {
      let (hub, isDone) = (hub, Locked(false))
      Task(executorPreference: ground) {
        await hub.record(within: .seconds(1))
        isDone.withLock { $0 = true }
      }
      ground.run()
      return isDone
    }

    var watchers: Int { ground.perform { hub.assumeIsolated { $0.watcherCount } } }
  }

  @Test func `numbers follow each other from one`() {
    let bench = Bench()
    let watcher = Watcher()
    bench.watch(watcher)
    bench.post(5)
    #expect(watcher.sequences == [0, 1, 2, 3, 4, 5], "the present state has the last number given")
    #expect(watcher.kinds.first == "signedIn")
    #expect(bench.journal.kept.withLock { $0.map(\.sequence) } == [1, 2, 3, 4, 5])
  }

  @Test func `events before the start are numbered by it, behind those of the last run`() async {
    let journal = MemoryJournal()
    journal.kept.withLock {
      $0 = [
        EventRecord(
          sequence: 41, at: WallTime(milliseconds: 0), kind: "signedIn", generation: Generation(1))
      ]
    }
    let ground = ManualGround()
    let hub = EventHub(ground: ground, journal: journal)
    ground.perform { hub.assumeIsolated { $0.post("suspended", generation: Generation(1)) } }
    Task(executorPreference: ground) { try await hub.start() }
    ground.run()
    // Those that a crash kept from the disk had numbers too; none of them is given again.
    let numbers = journal.kept.withLock { $0.map(\.sequence) }
    #expect(numbers == [41, 41 + EventHub.reserve + 1])
  }

  @Test(arguments: [(UInt64(2), true), (1, false)])
  func `a move that a kill kept from the history is told by the next start`(
    generation: UInt64, isMissing: Bool
  ) {
    let first = Bench()
    first.post()
    let move = EventRecord(
      sequence: 0, at: first.ground.wallTime, kind: "signedOut", generation: Generation(generation))
    let second = Bench(journal: first.journal, restored: move)
    let third = Bench(journal: second.journal, restored: move)
    let kinds = third.journal.kept.withLock { $0.map(\.kind) }
    #expect(kinds == ["refreshStarted"] + (isMissing ? ["signedOut"] : []))
  }

  @Test func `what a start finds is told as the move that led there`() throws {
    func snapshot(_ generation: UInt64) -> SessionSnapshot {
      SessionSnapshot(
        phase: .signedOut(reason: "logged out"), activity: .idle,
        generation: Generation(generation), durable: true)
    }
    let time = WallTime(milliseconds: 7)
    #expect(RestoredMove.event(to: snapshot(0), at: time) == nil, "nothing has ever happened")
    let event = try #require(RestoredMove.event(to: snapshot(4), at: time))
    #expect(event.kind == "signedOut")
    #expect(event.generation == Generation(4))
    #expect(event.detail == "logged out; recorded at the start after a kill")
  }

  @Test(arguments: 0...5)
  func `who resumes gets each event after its number once`(after: Int64) {
    let bench = Bench()
    bench.post(5)
    let watcher = Watcher()
    bench.watch(after: after, watcher)
    bench.post(2)
    #expect(watcher.sequences == Array(Int(after) + 1...7))
    #expect(!watcher.kinds.contains("gap"))
  }

  @Test func `a gap stands for what is no longer held`() {
    let bench = Bench()
    bench.post(2 * EventHub.held + 1)
    let watcher = Watcher()
    bench.watch(after: 7, watcher)
    let first = 2 * EventHub.held + 1 - EventHub.held + 1
    #expect(watcher.kinds.first == "gap")
    #expect(watcher.sequences == [first - 1] + Array(first...2 * EventHub.held + 1))
  }

  @Test(arguments: [6, 1_000_000, Int64.max])
  func `a number that this store never gave is a gap and no event`(after: Int64) {
    let bench = Bench()
    bench.post(5)
    let watcher = Watcher()
    bench.watch(after: after, watcher)
    #expect(watcher.kinds == ["gap"])
    #expect(watcher.sequences == [5])
    bench.post()
    #expect(watcher.sequences == [5, 6])
  }

  @Test func `after a restart a watcher that has seen all is told of a gap and goes on`() {
    let first = Bench()
    first.post(3)
    let second = Bench(journal: first.journal)
    let watcher = Watcher()
    second.watch(after: 3, watcher)
    second.post()
    #expect(watcher.kinds == ["gap", "refreshStarted"])
    #expect(watcher.sequences == [3 + Int(EventHub.reserve), 4 + Int(EventHub.reserve)])
  }

  @Test func `a slow reader is told where it stopped and misses nothing when it resumes`() {
    let bench = Bench()
    let slow = Watcher()
    slow.room.withLock { $0 = 4 }
    let quick = Watcher()
    bench.watch(slow)
    bench.watch(quick)
    bench.post(10)
    #expect(slow.sequences == [0, 1, 2, 3])
    #expect(slow.tooSlowAfter == 3)
    #expect(quick.sequences == Array(0...10))
    #expect(bench.watchers == 1)
    let again = Watcher()
    bench.watch(after: slow.tooSlowAfter, again)
    #expect(again.sequences == Array(4...10))
  }

  @Test(arguments: [nil, 0, 3] as [Int64?])
  func `who cannot even take the first is told so with a number that can be resumed`(
    after: Int64?
  ) {
    let bench = Bench()
    bench.post(5)
    let watcher = Watcher()
    watcher.room.withLock { $0 = 0 }
    bench.watch(after: after, watcher)
    #expect((watcher.tooSlowAfter ?? -1) >= (after ?? 0))
    #expect(bench.watchers == 0)
  }

  @Test func `a new store that has given no number can be resumed after zero`() {
    let bench = Bench()
    let watcher = Watcher()
    watcher.room.withLock { $0 = 0 }
    bench.watch(watcher)
    #expect(watcher.tooSlowAfter == 0)
  }

  @Test func `a watcher that is cancelled leaves nothing behind`() async {
    let bench = Bench()
    let watcher = Watcher()
    let task = bench.watch(watcher)
    #expect(bench.watchers == 1)
    task.cancel()
    bench.ground.run()
    #expect(bench.watchers == 0)
    await task.value
    guard case .left = watcher.end.withLock({ $0 }) else {
      Issue.record("it has not left")
      return
    }
  }

  @Test func `a watcher that is cancelled before it begins does not stay`() {
    let bench = Bench()
    let watcher = Watcher()
    let (hub, ground) = (bench.hub, bench.ground)
    let state = EventRecord(sequence: 0, at: ground.wallTime, kind: "signedIn", generation: .none)
    let task = Task(executorPreference: ground) {
      let end = await hub.watch(after: nil, state: state, send: watcher.take)
      watcher.end.withLock { $0 = end }
    }
    task.cancel()
    ground.run()
    #expect(watcher.hasEnded)
    #expect(bench.watchers == 0)
  }

  @Test func `a stop ends every watch with a word for it`() {
    let bench = Bench()
    let watchers = [Watcher(), Watcher()]
    for watcher in watchers { bench.watch(watcher) }
    bench.post(2)
    let hub = bench.hub
    bench.ground.perform { hub.assumeIsolated { $0.stop() } }
    for watcher in watchers {
      guard case .stopped(let event) = watcher.end.withLock({ $0 }) else {
        Issue.record("it has not ended")
        continue
      }
      #expect(event.kind == "stopping")
      #expect(event.sequence == 2)
    }
    let late = Watcher()
    bench.watch(late)
    #expect(late.hasEnded)
  }

  @Test func `an event that is caused by another comes after it for everybody`() {
    let bench = Bench()
    let (hub, answers) = (bench.hub, Locked(3))
    let meddler = Watcher()
    let take = meddler.take
    let state = EventRecord(sequence: 0, at: bench.ground.wallTime, kind: "s", generation: .none)
    Task(executorPreference: bench.ground) {
      _ = await hub.watch(after: nil, state: state) { text in
        let posts = answers.withLock { left in
          left -= 1
          return left >= 0
        }
        if posts { hub.assumeIsolated { $0.post("answer", generation: .none) } }
        return take(text)
      }
    }
    bench.ground.run()
    let other = Watcher()
    bench.watch(other)
    bench.post()
    #expect(meddler.sequences.dropFirst().sorted() == Array(meddler.sequences.dropFirst()))
    #expect(other.sequences == other.sequences.sorted())
    #expect(Set(other.sequences).count == other.sequences.count)
    #expect(other.sequences.last == 4)
  }

  @Test func `a journal that fails costs history and is tried again with the next event`() {
    let bench = Bench()
    bench.journal.fails.withLock { $0 = true }
    let watcher = Watcher()
    bench.watch(watcher)
    bench.post(EventHub.held + 500)
    #expect(watcher.sequences.count == EventHub.held + 501)
    bench.journal.fails.withLock { $0 = false }
    bench.post()
    let kept = bench.journal.kept.withLock { $0.map(\.sequence) }
    #expect(kept.count == EventHub.held)
    #expect(kept == Array(Int64(502)...Int64(EventHub.held + 501)))
  }

  @Test func `who records returns once the journal has all that was posted before`() {
    let bench = Bench()
    #expect(bench.record().withLock { $0 }, "nothing is being written")
    let gates = [Gate(), Gate()]
    bench.journal.gate.withLock { $0 = gates[0] }
    bench.post()
    bench.post()
    let isDone = bench.record()
    #expect(!isDone.withLock { $0 })
    bench.journal.gate.withLock { $0 = gates[1] }
    gates[0].open()
    bench.ground.run()
    #expect(!isDone.withLock { $0 }, "the second event is not there yet")
    bench.post()
    gates[1].open()
    bench.ground.run()
    #expect(isDone.withLock { $0 })
    #expect(bench.journal.kept.withLock { $0.map(\.sequence) } == [1, 2, 3])
    #expect(bench.ground.timerCount == 0)
  }

  @Test func `who records waits neither for a full disk nor for a slow one`() {
    let bench = Bench()
    let gate = Gate()
    bench.journal.gate.withLock { $0 = gate }
    bench.journal.fails.withLock { $0 = true }
    bench.post()
    let impatient = bench.record()
    bench.ground.advance(by: .milliseconds(999))
    #expect(!impatient.withLock { $0 })
    bench.ground.advance(by: .milliseconds(1))
    #expect(impatient.withLock { $0 })
    let patient = bench.record()
    gate.open()
    bench.ground.run()
    #expect(patient.withLock { $0 })
    #expect(bench.journal.kept.withLock { $0.isEmpty })
  }

  @Test func `details are cleaned before anybody sees them`() {
    let bench = Bench()
    let watcher = Watcher()
    bench.watch(watcher)
    let hub = bench.hub
    bench.ground.perform {
      hub.assumeIsolated {
        $0.post(
          "refreshFailed", generation: .none,
          detail: "a\u{1B}[2Jb\nc" + String(repeating: "x", count: 900))
      }
    }
    let detail = watcher.seen.withLock { $0.last?.detail } ?? ""
    #expect(detail.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
    #expect(detail.unicodeScalars.count <= 501)
  }
}
