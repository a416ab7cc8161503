import Execution
import FoundationEssentials
import Glibc
import JSON
import Platform
import Requests
import Session
import Simulation
import Store
import TestSupport
import Tips

/// A world on the real event loop and the real store with its thread, with callers that come and go
/// from threads of their own. What happens when is the machine's choice: it proves little by its
/// outcome and much under ThreadSanitizer.
struct ThreadedWorld {
  private let world: World
  private let seed: UInt64
  private let thread: LoopThread
  private let scratch: ScratchDirectory
  private let upstream: ThreadedUpstream
  private let store: SQLiteSessionStore
  private let coordinator: SessionCoordinator
  private let requester: ResilientRequester
  private let tips: TipService
  private let revocations: RevocationCoordinator

  private var loop: EventLoop { thread.loop }

  init(_ world: World, seed: UInt64) throws {
    self.world = world
    self.seed = seed
    thread = try LoopThread()
    scratch = try ScratchDirectory()
    let opened = try SQLiteSessionStore.open(
      StoreConfiguration(directory: scratch.path("state"), runtimeDirectory: scratch.path))
    store = opened.sessions
    upstream = ThreadedUpstream(world, ground: thread.loop, seed: seed)
    var policy = SessionPolicy()
    policy.canRevoke = world.revokes
    coordinator = SessionCoordinator(
      ground: thread.loop, store: store, endpoint: upstream,
      outbox: world.revokes ? store : nil, policy: policy)
    requester = ResilientRequester(
      ground: thread.loop, coordinator: coordinator, transport: upstream, base: "http://api")
    tips = TipService(
      ground: thread.loop, coordinator: coordinator, requester: requester, store: opened.tips,
      freshness: Freshness(
        defaultLifetime: .seconds(60), staleIfError: .seconds(600), dayZone: .gmt),
      fields: try Self.fields())
    revocations = RevocationCoordinator(
      ground: thread.loop, coordinator: coordinator, outbox: store, revoker: upstream,
      report: { _ in })
  }

  private static func fields() throws -> TipFields {
    func at(_ name: String) throws -> JSONPointer {
      guard let pointer = JSONPointer("/" + name) else { throw ThreadedFailure.pointer }
      return pointer
    }
    return try TipFields(
      id: at("id"), title: at("title"), body: at("body"), date: at("date"), tags: at("tags"),
      url: at("url"))
  }

  /// Lets all clients loose and returns what was wrong.
  func run() async throws -> [String] {
    try await start()
    let answers = Locked<[[ClientAnswer]]>(Array(repeating: [], count: world.clients.count))
    let tasks = Locked<[Task<Void, Never>]>([])
    var threads: [SystemThread] = []
    for (index, client) in world.clients.enumerated() {
      let thread = SystemThread.start {
        let task = Task(executorPreference: loop) {
          let deadline = loop.now.advanced(by: client.patience)
          let caller = Caller(
            spec: client, deadline: deadline, coordinator: coordinator, tips: tips, ground: loop
          ) { answer, _ in answers.withLock { $0[index].append(answer) } }
          await caller.call()
        }
        tasks.withLock { $0.append(task) }
        guard client.leaves else { return }
        for _ in 0..<(seed % 7) { sched_yield() }
        task.cancel()
      }
      guard let thread else { throw ThreadedFailure.noThread }
      threads.append(thread)
    }
    for thread in threads { thread.end() }
    for task in tasks.withLock({ $0 }) { await task.value }
    let wrong = try await faults(answers.withLock { $0 })
    await end()
    return wrong
  }

  private func start() async throws {
    try await Task(executorPreference: loop) {
      await requester.follow()
      await tips.follow()
      await revocations.follow()
      try await coordinator.start()
      _ = try await coordinator.importCredentials(
        ImportedCredentials(
          access: Dummy.secret("A.a0"), refresh: Dummy.secret("A.r0"), lifetime: world.lifetime,
          account: "A", scope: nil))
      await tips.expectStored()
      await tips.load()
      await revocations.start()
    }.value
  }

  private func end() async {
    await Task(executorPreference: loop) {
      await requester.stop()
      await revocations.stop()
      _ = await coordinator.stop()
    }.value
    thread.close()
  }

  private func faults(_ answers: [[ClientAnswer]]) async throws -> [String] {
    var wrong: [String] = []
    for (index, all) in answers.enumerated() where all.count != 1 {
      wrong.append("I7: client \(index + 1) has \(all.count) answers")
    }
    if upstream.mostOpen > 1 {
      wrong.append("I1: \(upstream.mostOpen) exchanges were open at once")
    }
    // No renewal falls due within such a run.
    let most = world.mostRefreshes ?? world.callersOfRefreshes
    if upstream.refreshes > most {
      wrong.append("I1: \(upstream.refreshes) refreshes where \(most) are enough")
    }
    guard !world.clients.contains(where: { $0.call == .stop }) else { return wrong }
    let (persisted, memory) = try await Task(executorPreference: loop) {
      try await coordinator.inspect()
    }.value
    if persisted.generation != memory.generation {
      wrong.append("I9: memory and store are at different generations")
    }
    if persisted.refreshToken != memory.refreshToken || persisted.accessToken != memory.accessToken
    {
      wrong.append("I5: memory and store hold different pairs")
    }
    return wrong
  }
}

enum ThreadedFailure: Error {
  case pointer, noThread
}
