package import Execution
import Secrets
package import Session

/// A value with the session that it was fetched for, and the attempt that brought it: those who
/// shared an attempt have the same number.
package struct Fetched<Value: Sendable>: Sendable {
  package let value: Value
  package let generation: Generation
  package let session: SessionID
  package let attempt: UInt64
}

/// What the requester has done since it started.
package struct RequestCounters: Equatable, Sendable {
  package var upstreamRequests = 0
  package var requestsDeduplicated = 0
  package var retries = 0

  package init() {}
}

/// Makes requests of a session hold: one attempt for all who ask alike (outermost), in it retries
/// and at most one refresh. The refresh itself never comes this way.
///
/// Guards I2 (attempts belong to a generation), I3 (the budget) and I7 (each caller one answer,
/// leaving takes nothing from the others).
package actor ResilientRequester {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  let ground: any Ground
  let coordinator: SessionCoordinator
  private let transport: any Transport
  private var policy: RetryPolicy
  private let entropy: Entropy
  private let sleeper: Sleeper
  /// The configured `BaseURL`; its origin is part of the session's binding (I11).
  private var base: String
  /// How long one try may take at the least, whatever its callers' patience: what it brings serves
  /// the next ones.
  private var requestTimeout: Duration
  package private(set) var counters = RequestCounters()
  var circuit = Circuit()
  var awayReason = ""
  var probeTimer: TimerID?
  /// Asks for something when the circuit lets a probe through, so that an upstream that is back is
  /// noticed without a client.
  var probe: (@Sendable () async -> Void)?

  private var attempts: [UInt64: Attempt] = [:]
  private var joiners: [UInt64: Joiners] = [:]
  private var attemptByKey: [RequestKey: UInt64] = [:]
  private var nextAttempt: UInt64 = 0
  private var nextWaiter: UInt64 = 0

  /// The coordinator must run on the same ground: boundaries reach this actor in the very step in
  /// which the generation moves.
  package init(
    ground: any Ground, coordinator: SessionCoordinator, transport: any Transport, base: String,
    policy: RetryPolicy = RetryPolicy(), requestTimeout: Duration = .seconds(30),
    entropy: Entropy = .system
  ) {
    self.ground = ground
    self.coordinator = coordinator
    self.transport = transport
    self.base = base
    self.policy = policy
    self.requestTimeout = requestTimeout
    self.entropy = entropy
    sleeper = Sleeper(ground: ground)
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  /// Goes by another configuration from now on, attempts under way included.
  package func adopt(base: String, policy: RetryPolicy, requestTimeout: Duration) {
    if base != self.base {
      // Another upstream: nothing is known of it.
      circuit = Circuit()
      cancelProbe()
    } else {
      // The reload may have mended what kept the upstream away.
      networkChanged()
    }
    self.base = base
    self.policy = policy
    self.requestTimeout = requestTimeout
  }

  /// Follows the coordinator's boundaries; before it starts.
  package func follow() async {
    // Weakly: the coordinator is held from here, and would hold back.
    await coordinator.observe { [weak self] boundary in
      self?.assumeIsolated { $0.cross(boundary) }
    }
  }

  /// Sends a request, or joins the attempt that is under way for the same one. `admit` is asked
  /// before a new attempt begins; a span it returns is how long this caller has to wait for one.
  /// `deliver` is called once per attempt, before anyone is answered, by whoever began it.
  package func send<Value: Sendable>(
    _ endpoint: Endpoint<Value>, by deadline: Instant,
    admit: @Sendable () -> Duration? = { nil },
    deliver: @escaping @Sendable (Fetched<Value>) async -> Void = { _ in }
  ) async throws(RequestError) -> Fetched<Value> {
    let generation = await coordinator.generation
    if let error = await coordinator.unavailable { throw .session(error) }
    let request = try endpoint.request(base: base)
    let key = RequestKey(request, generation: generation, repetition: endpoint.repetition)
    let id: UInt64
    if let key, let present = attemptByKey[key] {
      counters.requestsDeduplicated += 1
      id = present
    } else {
      if let wait = admit() { throw .tooMany(retryAfter: wait) }
      id = begin(
        endpoint, generation: generation, key: key, deadline: deadline, deliver: deliver)
    }
    joiners[id, default: Joiners()].count += 1
    let outcome = await wait(for: id, by: deadline)
    let answer = try outcome.get()
    // Between the attempt's end and this step the session may have ended (I2, I6).
    if await coordinator.session(of: generation) != answer.session {
      throw .session(await coordinator.outdated)
    }
    guard let value = answer.value as? Value else { throw .otherType }
    return Fetched(
      value: value, generation: generation, session: answer.session, attempt: id)
  }

  private func begin<Value: Sendable>(
    _ endpoint: Endpoint<Value>, generation: Generation, key: RequestKey?, deadline: Instant,
    deliver: @escaping @Sendable (Fetched<Value>) async -> Void
  ) -> UInt64 {
    nextAttempt += 1
    let id = nextAttempt
    let task = Task(executorPreference: ground) {
      await self.carryOut(endpoint, id: id, generation: generation, deliver: deliver)
    }
    attempts[id] = Attempt(
      generation: generation, key: key, deadline: deadline, task: task)
    if let key { attemptByKey[key] = id }
    return id
  }

  private func carryOut<Value: Sendable>(
    _ endpoint: Endpoint<Value>, id: UInt64, generation: Generation,
    deliver: @escaping @Sendable (Fetched<Value>) async -> Void
  ) async {
    let outcome = await run(endpoint, id: id, generation: generation)
    if case .success(let answer) = outcome, isLive(id), let value = answer.value as? Value {
      await deliver(
        Fetched(value: value, generation: generation, session: answer.session, attempt: id))
    }
    finish(id, outcome)
  }

  private func isLive(_ id: UInt64) -> Bool {
    attempts[id]?.isOutdated == false
  }

  private func plannedEnd(_ id: UInt64) -> Instant {
    attempts[id]?.deadline ?? ground.now
  }

  /// One attempt: tries until the policy has an answer. Each try has its header made anew, so that
  /// what follows a refresh carries the new token.
  private func run<Value: Sendable>(
    _ endpoint: Endpoint<Value>, id: UInt64, generation: Generation
  ) async -> Result<Answer, RequestError> {
    var budget = RetryPolicy.Budget()
    // A try for which the upstream has named the time is not held back by others' failures.
    var wasAskedToWait = false
    while true {
      let deadline = max(plannedEnd(id), ground.now.advanced(by: requestTimeout))
      let rejected: TokenVersion
      let session: SessionID
      let outcome: Result<HTTPResponse, TransportError>
      do throws(RequestError) {
        let credential = try await credential(generation, budget, deadline)
        budget.hasRefreshed = budget.hasRefreshed || credential.refreshed
        rejected = credential.version
        session = credential.session
        // Made for the upstream that the token has just been found to belong to: a reload may
        // have changed it since the attempt began (I11).
        let request = try endpoint.request(base: base)
        if !wasAskedToWait { try admit() }
        outcome = await send(request, credential.takeToken(), deadline)
      } catch {
        return .failure(error)
      }
      let now = ground.now
      let decision = policy.decide(
        outcome, mayRepeat: endpoint.mayRepeat, budget: budget,
        remaining: now.duration(to: plannedEnd(id)), jitter: entropy.fraction(),
        wallTime: ground.wallTime)
      switch decision {
      case .deliver:
        return read(outcome, with: endpoint, session)
      case .fail(let error):
        return .failure(error)
      case .retry(let pause):
        budget.retries += 1
        counters.retries += 1
        wasAskedToWait = asksToWait(outcome)
        guard await sleeper.sleep(until: now.advanced(by: pause)) else {
          return .failure(.cancelled)
        }
      case .recover:
        budget.hasRefreshed = true
        do throws(SessionError) {
          try await coordinator.replace(rejected, by: deadline)
        } catch {
          return .failure(explain(error))
        }
      }
    }
  }

  private func credential(
    _ generation: Generation, _ budget: RetryPolicy.Budget, _ deadline: Instant
  ) async throws(RequestError) -> AccessCredential {
    do throws(SessionError) {
      return try await coordinator.credential(
        for: generation, mayRefresh: !budget.hasRefreshed, by: deadline)
    } catch {
      throw explain(error)
    }
  }

  /// A brake on refreshes is, to a caller, the 401 that it would have been.
  private func explain(_ error: SessionError) -> RequestError {
    switch error {
    case .braked:
      .refused(reason: "the upstream rejects each new token of the session", httpStatus: 401)
    case .cancelled: .cancelled
    case .timedOut: .timedOut
    default: .session(error)
    }
  }

  private func send(
    _ request: HTTPRequest, _ bearer: consuming Secret, _ deadline: Instant
  ) async -> Result<HTTPResponse, TransportError> {
    counters.upstreamRequests += 1
    let outcome: Result<HTTPResponse, TransportError>
    do throws(TransportError) {
      outcome = .success(
        try await transport.send(request, bearer: bearer, deadline: deadline))
    } catch {
      outcome = .failure(error)
    }
    note(outcome)
    return outcome
  }

  private func read<Value: Sendable>(
    _ outcome: Result<HTTPResponse, TransportError>, with endpoint: Endpoint<Value>,
    _ session: SessionID
  ) -> Result<Answer, RequestError> {
    do throws(RequestError) {
      guard case .success(let response) = outcome else { return .failure(.cancelled) }
      return .success(Answer(value: try endpoint.interpret(response), session: session))
    } catch {
      return .failure(error)
    }
  }
}

extension ResilientRequester {
  private func wait(for attempt: UInt64, by deadline: Instant) async -> Result<
    Answer, RequestError
  > {
    let id = nextWaiter
    nextWaiter += 1
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let early = takeEarlyOutcome(of: attempt)
        // The handler may have run before there was an entry to take out.
        if Task.isCancelled {
          continuation.resume(returning: .failure(RequestError.cancelled))
          return
        }
        if let early {
          continuation.resume(returning: early)
          return
        }
        let timer = ground.schedule(at: deadline) {
          self.assumeIsolated { $0.leave(attempt, id, .timedOut) }
        }
        attempts[attempt]?.join(id, deadline, timer, continuation)
      }
    } onCancel: {
      Task(executorPreference: ground) { await self.leave(attempt, id, .cancelled) }
    }
  }

  /// The joiner waits from here on, unless the attempt has ended already.
  private func takeEarlyOutcome(of attempt: UInt64) -> Result<Answer, RequestError>? {
    guard var entry = joiners[attempt] else { return nil }
    entry.count -= 1
    joiners[attempt] = entry.count > 0 ? entry : nil
    return entry.outcome
  }

  private func leave(_ attempt: UInt64, _ id: UInt64, _ reason: RequestError) {
    guard let waiter = attempts[attempt]?.waiters.removeValue(forKey: id) else { return }
    ground.cancel(waiter.timer)
    waiter.continuation.resume(returning: .failure(reason))
  }

  /// Ends an attempt: its key is free for the next one before anyone is answered, so a late joiner
  /// starts anew.
  private func finish(_ id: UInt64, _ outcome: Result<Answer, RequestError>) {
    if isLive(id) { answer(id, outcome) }
  }

  private func answer(_ id: UInt64, _ outcome: Result<Answer, RequestError>) {
    guard let attempt = attempts.removeValue(forKey: id) else { return }
    joiners[id]?.outcome = outcome
    if let key = attempt.key, attemptByKey[key] == id { attemptByKey[key] = nil }
    for (_, waiter) in attempt.waiters.sorted(by: { $0.key < $1.key }) {
      ground.cancel(waiter.timer)
      waiter.continuation.resume(returning: outcome)
    }
  }

  /// The generation moved: what is under way for older ones is ended at once; its callers are
  /// answered when the store has followed (I2).
  private func cross(_ boundary: Boundary) {
    switch boundary {
    case .moved(let generation, _):
      for (id, attempt) in attempts where attempt.generation < generation {
        attempt.task.cancel()
        attempts[id]?.isOutdated = true
      }
    case .published(let generation, let reason):
      let error = SessionError.signedOut(generation: generation, reason: reason)
      for (id, attempt) in attempts where attempt.generation < generation {
        answer(id, .failure(.session(error)))
      }
    }
  }

  /// Ends everything at once; the daemon is stopping.
  package func stop() {
    cancelProbe()
    for (id, attempt) in attempts {
      attempt.task.cancel()
      answer(id, .failure(.session(.stopping)))
    }
  }
}
