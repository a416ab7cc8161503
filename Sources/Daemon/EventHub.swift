import BrewlogAPI
import Execution
import JSON
import Session
import Varlink

/// Numbers what happens, keeps the last of it, hands it to the watchers, and writes the history. All
/// events of the daemon pass through here, once.
actor EventHub {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let ground: any Ground
  private let journal: any EventJournal
  private var recent: [EventRecord] = []
  private var last: Int64 = 0
  private var watchers: [UInt64: Watcher] = [:]
  private var nextWatcher: UInt64 = 0
  private var unwritten: [EventRecord] = []
  private var isWriting = false
  private var writings: [UInt64: Writing] = [:]
  private var nextWriting: UInt64 = 0
  private var isStarted = false
  /// Numbered, and not yet handed to the watchers. One that is posted while another is handed out
  /// waits for its turn: all watchers see the same order.
  private var undelivered: [EventRecord] = []
  private var isDelivering = false
  private var isStopped = false

  /// Events that are held in memory for those who resume.
  static let held = 1_000
  /// What a crash may have kept from the disk: numbers that watchers have seen are not given again.
  static let reserve: Int64 = 1_000

  private struct Watcher {
    /// It has seen all up to here.
    var seen: Int64
    let send: Send
    let continuation: CheckedContinuation<End, Never>
  }

  /// Someone who waits until the journal has all up to here.
  private struct Writing {
    let through: Int64
    let timer: TimerID
    let continuation: CheckedContinuation<Void, Never>
  }

  /// Takes one event, the text of a `Watch` reply; false where its receiver is too slow or gone.
  typealias Send = @Sendable ([UInt8]) -> Bool

  /// Why a watch ended.
  enum End: Sendable {
    case tooSlow(last: Int64)
    /// The daemon is stopping; nobody has to be told where the receiver has left.
    case stopped(EventRecord)
    case left
  }

  init(ground: any Ground, journal: any EventJournal) {
    self.ground = ground
    self.journal = journal
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  /// Goes on where the last run ended. Events that came before are numbered now. `restored` is the
  /// move that led to the state which was found: it is told where the history does not know of it. A
  /// full history may only have forgotten it.
  func start(restored: EventRecord? = nil) async throws(StoreError) {
    let stored = try await journal.lastSequence()
    let early = recent
    recent = try await journal.newest(limit: Self.held).reversed()
    last = stored == 0 ? 0 : stored + Self.reserve
    isStarted = true
    if let restored, recent.count < Self.held,
      !recent.contains(where: { $0.generation >= restored.generation })
    {
      number(restored)
    }
    for event in early { number(event) }
  }

  func post(
    _ kind: String, generation: Generation, detail: String? = nil, actorUID: UInt32? = nil,
    httpStatus: Int? = nil
  ) {
    let event = EventRecord(
      sequence: 0, at: ground.wallTime, kind: kind, generation: generation,
      detail: detail.map { TextSanitizer.clean($0, limit: 500) }, actorUID: actorUID,
      httpStatus: httpStatus)
    if isStarted { number(event) } else { recent.append(event) }
  }

  private func number(_ event: EventRecord) {
    last += 1
    var event = event
    event.sequence = last
    recent.append(event)
    if recent.count > Self.held * 2 { recent.removeFirst(recent.count - Self.held) }
    undelivered.append(event)
    unwritten.append(event)
    if unwritten.count > Self.held { unwritten.removeFirst(unwritten.count - Self.held) }
    deliver()
    write()
  }

  private func deliver() {
    if isDelivering { return }
    isDelivering = true
    while !undelivered.isEmpty {
      let event = undelivered.removeFirst()
      if watchers.isEmpty { continue }
      // Once for all who watch.
      let text = Self.text(of: event)
      for (id, watcher) in watchers.sorted(by: { $0.key < $1.key })
      where watcher.seen < event.sequence && watchers[id] != nil {
        if watcher.send(text) { continue }
        watchers[id] = nil
        watcher.continuation.resume(returning: .tooSlow(last: event.sequence - 1))
      }
    }
    isDelivering = false
  }

  /// The text of a `Watch` reply. An event's members are all of kinds that JSON has.
  private static func text(of event: EventRecord) -> [UInt8] {
    do throws(JSONError) {
      return try JSONText.encode(WatchReply(event: MethodHandler.event(event)))
    } catch {
      return Array("{}".utf8)
    }
  }

  /// One batch at a time, in order. What a failing disk does not take is bounded, and then dropped:
  /// the journal is history, not state.
  private func write() {
    guard !isWriting else { return }
    isWriting = true
    Task(executorPreference: ground) { await self.writeAll() }
  }

  private func writeAll() async {
    while !unwritten.isEmpty {
      let batch = unwritten
      unwritten = []
      do throws(StoreError) {
        try await journal.append(batch)
        if let last = batch.last { written(through: last.sequence) }
      } catch {
        unwritten = Array((batch + unwritten).suffix(Self.held))
        break
      }
    }
    isWriting = false
    written(through: .max)
  }

  /// Returns once a kill can no longer take from the history what has been posted so far: for who
  /// answers a caller with success. A disk that does not take it is not waited for, nor one that
  /// takes longer than `patience`: what has happened holds without its history.
  func record(within patience: Duration) async {
    guard isWriting else { return }
    let id = nextWriting
    nextWriting += 1
    await withCheckedContinuation { continuation in
      let timer = ground.schedule(at: ground.now.advanced(by: patience)) {
        self.assumeIsolated { $0.writings.removeValue(forKey: id)?.continuation.resume() }
      }
      writings[id] = Writing(through: last, timer: timer, continuation: continuation)
    }
  }

  private func written(through sequence: Int64) {
    for (id, writing) in writings where writing.through <= sequence {
      writings[id] = nil
      ground.cancel(writing.timer)
      writing.continuation.resume()
    }
  }

  /// The newest of what is held, newest first.
  func newest(limit: Int) -> [EventRecord] {
    recent.suffix(limit).reversed()
  }

  /// Sends what came after `sequence`, then what comes, until the receiver is too slow or leaves.
  /// Without a number: the present state first, as an event without one of its own.
  func watch(
    after sequence: Int64?, state: EventRecord, send: @escaping Send
  ) async -> End {
    for event in opening(after: sequence, state: state) where !send(Self.text(of: event)) {
      return .tooSlow(last: max(0, event.sequence - 1))
    }
    let id = nextWatcher
    nextWatcher += 1
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The handler may have run before there was an entry to take out.
        if Task.isCancelled || isStopped {
          continuation.resume(returning: End.left)
        } else {
          watchers[id] = Watcher(seen: last, send: send, continuation: continuation)
        }
      }
    } onCancel: {
      Task(executorPreference: ground) { await self.leave(id) }
    }
  }

  private func leave(_ id: UInt64) {
    watchers.removeValue(forKey: id)?.continuation.resume(returning: .left)
  }

  private func opening(after sequence: Int64?, state: EventRecord) -> [EventRecord] {
    var state = state
    state.sequence = last
    guard let sequence else { return [state] }
    let missed = recent.filter { $0.sequence > sequence }
    // Each number between the asked one and the first that is held is missing, or was never given.
    let isWhole = sequence == last || missed.first.map { $0.sequence - 1 } == sequence
    if isWhole { return missed }
    var gap = state
    gap.kind = EventKind.gap.name
    gap.detail =
      sequence > last
      ? "that number is not of this store; the present state follows from Status"
      : "events before this are no longer held"
    gap.sequence = missed.first.map { $0.sequence - 1 } ?? last
    return [gap] + (sequence > last ? [] : missed)
  }

  /// Ends the watches, with an event that says why; the daemon is stopping.
  func stop() {
    isStopped = true
    let ending = EventRecord(
      sequence: last, at: ground.wallTime, kind: EventKind.stopping.name, generation: .none)
    for (_, watcher) in watchers { watcher.continuation.resume(returning: .stopped(ending)) }
    watchers = [:]
  }

  var watcherCount: Int { watchers.count }
}
