import BrewlogAPI
import Execution
import Platform
import Session
import Upstream

/// Why a sign-in brought no session.
enum LoginError: Error, Equatable {
  case notConfigured(missing: [String])
  case failed(reason: String, upstreamError: String?)
  case noSuchLogin(id: String)
  case session(SessionError)

  static let cancelled = LoginError.failed(
    reason: "the sign-in was cancelled", upstreamError: nil)
}

/// The one sign-in that may be under way. It belongs to the daemon, not to the client that began it:
/// that one may leave, and others join. `CancelLogin`, its expiry, and any move of the generation end
/// it (I2).
actor LoginCoordinator {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  let loop: EventLoop
  let coordinator: SessionCoordinator
  let grants: LoginGrants
  private let entropy: Entropy
  private let report: @Sendable (SessionEvent) -> Void

  private var ongoing: Ongoing?
  private var waiters: [UInt64: Waiter] = [:]
  private var nextWaiter: UInt64 = 0

  /// The attempt under way.
  private struct Ongoing {
    let id: String
    let generation: Generation
    let uid: UInt32
    var task: Task<Void, Never>?
    /// It is on its way to its end, and nobody joins it any more.
    var isCancelled = false
    /// Nil until the person can act.
    var shown: LoginAttempt?
    /// Browser flow: whether an address belongs to this attempt, and who waits for one.
    var isAnswer: (@Sendable (String) -> Bool)?
    var address: CheckedContinuation<String?, Never>?
  }

  /// One who waits for the attempt to be shown, or for its end.
  private struct Waiter {
    enum Wanted {
      case prompt(CheckedContinuation<Result<LoginAttempt, LoginError>, Never>)
      case end(CheckedContinuation<Result<SessionSnapshot, LoginError>, Never>)
    }
    let id: String
    let wanted: Wanted
  }

  init(
    loop: EventLoop, coordinator: SessionCoordinator, grants: LoginGrants,
    entropy: Entropy = .system, report: @escaping @Sendable (SessionEvent) -> Void
  ) {
    self.loop = loop
    self.coordinator = coordinator
    self.grants = grants
    self.entropy = entropy
    self.report = report
    unownedExecutor = loop.asUnownedSerialExecutor()
  }

  /// Hears of logouts and of moves of the generation; before the coordinator starts.
  func follow() async {
    await coordinator.observe { boundary in
      if case .moved(let generation, _) = boundary {
        self.assumeIsolated { $0.cross(to: generation) }
      }
    }
    await coordinator.observeLogouts { self.assumeIsolated { $0.cancelAny() } }
  }

  /// The attempt as it is shown, once the person can act.
  var attempt: LoginAttempt? { ongoing?.shown }

  /// Begins an attempt, or joins the one under way, whichever its flow.
  func begin(flow: LoginFlow?, uid: UInt32) async -> Result<LoginAttempt, LoginError> {
    while let ongoing, ongoing.isCancelled {
      _ = await end(of: ongoing.id)
      if Task.isCancelled { return .failure(.cancelled) }
    }
    if let ongoing {
      if let shown = ongoing.shown { return .success(shown) }
      return await prompt(of: ongoing.id)
    }
    let means = grants.present
    guard means.missing.isEmpty, let grant = means.grant else {
      return .failure(.notConfigured(missing: means.missing))
    }
    let id = entropy.bytes(8).map { String($0, radix: 16) }.joined()
    let generation = await coordinator.generation
    var new = Ongoing(id: id, generation: generation, uid: uid)
    new.task = Task(executorPreference: loop) {
      await self.run(id, flow, grant, means.redirectPort, generation, uid)
    }
    ongoing = new
    return await prompt(of: id)
  }

  /// Waits for the end of an attempt. One who leaves ends nothing.
  func end(of id: String) async -> Result<SessionSnapshot, LoginError> {
    guard ongoing?.id == id else { return .failure(.noSuchLogin(id: id)) }
    return await wait(for: id) { .end($0) }
  }

  private func prompt(of id: String) async -> Result<LoginAttempt, LoginError> {
    await wait(for: id) { .prompt($0) }
  }

  private func wait<Value: Sendable>(
    for id: String,
    _ wanted: (CheckedContinuation<Result<Value, LoginError>, Never>) -> Waiter.Wanted
  ) async -> Result<Value, LoginError> {
    let name = nextWaiter
    nextWaiter += 1
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled {
          continuation.resume(returning: .failure(LoginError.cancelled))
        } else {
          waiters[name] = Waiter(id: id, wanted: wanted(continuation))
        }
      }
    } onCancel: {
      Task(executorPreference: loop) { await self.leave(name) }
    }
  }

  private func leave(_ name: UInt64) {
    guard let waiter = waiters.removeValue(forKey: name) else { return }
    switch waiter.wanted {
    case .prompt(let continuation): continuation.resume(returning: .failure(.cancelled))
    case .end(let continuation): continuation.resume(returning: .failure(.cancelled))
    }
  }

  /// Takes the address that a browser was sent back to.
  func complete(
    _ id: String, with address: String
  ) async -> Result<SessionSnapshot, LoginError> {
    guard let ongoing, ongoing.id == id else { return .failure(.noSuchLogin(id: id)) }
    guard let isAnswer = ongoing.isAnswer else {
      return .failure(
        .failed(reason: "this sign-in waits for a code, not for an address", upstreamError: nil))
    }
    guard isAnswer(address) else {
      return .failure(
        .failed(
          reason: "that address does not belong to this sign-in; paste the whole address that the "
            + "browser was sent back to", upstreamError: nil))
    }
    deliver(address, to: id)
    return await end(of: id)
  }

  /// Ends an attempt; false where there is none, or it came to its session first.
  func cancel(_ id: String) async -> Bool {
    guard ongoing?.id == id else { return false }
    cancelAny()
    if case .success = await end(of: id) { return false }
    return true
  }

  func cancelAny() {
    guard let id = ongoing?.id else { return }
    ongoing?.isCancelled = true
    ongoing?.task?.cancel()
    deliver(nil, to: id)
  }

  private func cross(to generation: Generation) {
    if let ongoing, ongoing.generation < generation { cancelAny() }
  }

  // MARK: For the flows

  func show(_ attempt: LoginAttempt, isAnswer: (@Sendable (String) -> Bool)? = nil) {
    guard ongoing?.id == attempt.id else { return }
    ongoing?.shown = attempt
    ongoing?.isAnswer = isAnswer
    report(
      SessionEvent(
        .loginPending, generation: ongoing?.generation ?? .none, detail: attempt.flow.name,
        actorUID: ongoing?.uid))
    for (name, waiter) in waiters where waiter.id == attempt.id {
      guard case .prompt(let continuation) = waiter.wanted else { continue }
      waiters[name] = nil
      continuation.resume(returning: .success(attempt))
    }
  }

  /// Waits for an address, from the browser itself or pasted; nil: none came.
  func address(for id: String) async -> String? {
    await withCheckedContinuation { continuation in
      if ongoing?.id == id, !Task.isCancelled {
        ongoing?.address = continuation
      } else {
        continuation.resume(returning: nil)
      }
    }
  }

  func deliver(_ address: String?, to id: String) {
    guard ongoing?.id == id, let waiter = ongoing?.address else { return }
    ongoing?.address = nil
    waiter.resume(returning: address)
  }

  /// The attempt is over: the next one may begin before anyone is answered.
  func finish(_ id: String, _ outcome: Result<SessionSnapshot, LoginError>) {
    guard let over = ongoing, over.id == id else { return }
    ongoing = nil
    if case .failure(let error) = outcome {
      report(
        SessionEvent(
          .loginFailed, generation: over.generation, detail: error.words, actorUID: over.uid))
    }
    for (name, waiter) in waiters.sorted(by: { $0.key < $1.key }) where waiter.id == id {
      waiters[name] = nil
      switch waiter.wanted {
      case .end(let continuation): continuation.resume(returning: outcome)
      case .prompt(let continuation):
        continuation.resume(returning: .failure(outcome.failure ?? .cancelled))
      }
    }
  }

  func stop() {
    cancelAny()
  }
}

extension LoginError {
  var words: String {
    switch self {
    case .notConfigured(let missing): "not configured: \(missing.joined(separator: ", "))"
    case .failed(let reason, _): reason
    case .noSuchLogin: "there is no such sign-in"
    case .session(let error): Self.words(error)
    }
  }

  /// People read it in the history: a value of the program's own, spelt out, says nothing to them.
  private static func words(_ error: SessionError) -> String {
    switch error {
    case .signedOut(_, let reason), .suspended(let reason), .refreshFailed(let reason, _, _),
      .storeFailed(let reason), .spentToken(let reason), .unusable(let reason):
      reason
    case .braked: "the upstream rejects each new token of the session"
    case .generationMoved: "the session has changed meanwhile"
    case .timedOut: "it did not end in time"
    case .cancelled: "the sign-in was cancelled"
    case .stopping: "the daemon is stopping"
    }
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
