import Execution
import Requests
import Session

/// The callers: when they come, what they are told.
extension Run {
  struct ClientState {
    var spec: World.Client
    var name: String
    /// Which run of the daemon it calls.
    var incarnation: Int
    var task: Task<Void, Never>?
    var answer: ClientAnswer?
    var deadline: Instant
    var answers = 0
    var hasBegun = false
    /// The steps of the run in which it called and was answered.
    var calledIn = Int.max
    var answeredIn = Int.max
    var leftAt: Instant?
    var leaving: UInt64?

    /// Whether its call has a deadline.
    var isBounded: Bool {
      switch spec.call {
      case .today, .tip, .rate, .refresh: true
      case .logout, .forget, .logoutOfFirst, .importAccount, .importOverFirst, .importNothing,
        .resume, .inspect, .intrude, .stop:
        false
      }
    }
  }

  func arrive(_ spec: World.Client) {
    let index = clients.count
    let name = "client \(index + 1)"
    clients.append(
      ClientState(
        spec: spec, name: name, incarnation: incarnation, deadline: .distantFuture))
    scheduler.add(
      PendingEvent(
        id: nextID(), label: { "\(name) calls \(spec.call)" }, ways: [""],
        isOptional: spec.comesLate
      ) { [unowned self] _ in begin(index) })
  }

  /// Moments at which somebody may come late.
  func tick() {
    for moment in [200, 700, 1_000, 1_500, 2_000, 3_000, 4_000, 8_000, 21_000] {
      _ = scheduler.schedule(at: scheduler.now.advanced(by: .milliseconds(moment))) {}
    }
  }

  private func begin(_ index: Int) {
    let spec = clients[index].spec
    let deadline = scheduler.now.advanced(by: spec.patience)
    clients[index].deadline = deadline
    clients[index].hasBegun = true
    clients[index].calledIn = scheduler.steps
    ledger.causes.called(spec.call)
    switch spec.call {
    case .logout, .forget, .logoutOfFirst, .importAccount, .importOverFirst: ledger.mayEnd = true
    case .resume: ledger.isResumed = true
    case .today, .tip, .rate, .refresh, .importNothing, .inspect, .intrude, .stop: break
    }
    guard let coordinator, let tips else { return }
    if spec.call == .intrude {
      clients[index].answer = .done
      if let database { Task(executorPreference: loop) { await database.intrude() } }
      return
    }
    let incarnation = incarnation
    let caller = Caller(
      spec: spec, deadline: deadline, coordinator: coordinator, tips: tips, ground: loop,
      willStop: { [coordinator, requester, revocations] in
        await coordinator.refuseCalls()
        await requester?.stop()
        await revocations?.stop()
      }
    ) { [unowned self] answer, before in
      if isAlive(incarnation) { answered(index, answer, before) }
    }
    clients[index].task = Task(executorPreference: loop) { await caller.call() }
    guard spec.leaves else { return }
    let id = nextID()
    clients[index].leaving = id
    scheduler.add(
      PendingEvent(
        id: id, label: { "client \(index + 1) leaves" }, ways: [""], isOptional: true
      ) { [unowned self] _ in
        clients[index].leftAt = scheduler.now
        clients[index].task?.cancel()
      })
  }

  private func answered(_ index: Int, _ answer: ClientAnswer, _ before: Generation) {
    if let leaving = clients[index].leaving { scheduler.remove(event: leaving) }
    say("\(clients[index].name) is answered: \(answer.text)")
    clients[index].answer = answer
    clients[index].answers += 1
    ledger.causes.answered(clients[index].spec.call)
    clients[index].answeredIn = scheduler.steps
    if clients[index].spec.call == .forget { checkForgotten(clients[index]) }
    ledger.answered(
      clients[index], answer,
      Ledger.Moment(
        now: scheduler.now, session: session, before: before, present: generation, world: world))
  }
}
