package import Execution
package import Secrets

/// What an upstream said to the revocation of one token (RFC 7009).
package enum RevocationResult: Equatable, Sendable {
  /// It is of no use any more, or never was.
  case done
  /// Trying again changes nothing; the text says why.
  case refused(reason: String)
  case unavailable(reason: String, retryAfter: Duration?)
}

/// Where tokens are revoked.
package protocol TokenRevoker: Sendable {
  var binding: UpstreamBinding { get }
  func revoke(_ token: consuming Secret, isRefreshToken: Bool, deadline: Instant) async
    -> RevocationResult
}

/// Works the revocation outbox off, in the background and with backoff, for a day at most; no logout
/// waits for it. It is the only one that sends a token of an old generation (I2), and only where the
/// token came from (I11).
package actor RevocationCoordinator {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  private let ground: any Ground
  private let coordinator: SessionCoordinator
  private let outbox: any RevocationOutbox
  private let revoker: any TokenRevoker
  private let report: @Sendable (SessionEvent) -> Void
  private var timer: TimerID?
  private var task: Task<Void, Never>?
  private var isCalledAgain = false
  private var failures = 0
  private var isStopping = false
  /// How many tokens' revocations wait, as far as is known without asking the store.
  package private(set) var waiting = 0

  private static let firstPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(300)
  private static let deadline = Duration.seconds(30)
  /// After this the outbox forgets an entry.
  private static let patience = Duration.seconds(86_400)

  package init(
    ground: any Ground, coordinator: SessionCoordinator, outbox: any RevocationOutbox,
    revoker: any TokenRevoker, report: @escaping @Sendable (SessionEvent) -> Void
  ) {
    self.ground = ground
    self.coordinator = coordinator
    self.outbox = outbox
    self.revoker = revoker
    self.report = report
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  /// Hears of new entries; before the coordinator starts.
  package func follow() async {
    // Weakly: the coordinator is held from here, and would hold back.
    await coordinator.observeRevocations { [weak self] in self?.assumeIsolated { $0.wake() } }
  }

  /// Looks at what an earlier run left.
  package func start() {
    wake()
  }

  package func stop() async {
    isStopping = true
    if let timer { ground.cancel(timer) }
    task?.cancel()
    await task?.value
  }

  /// New entries are tried at once, whatever the backoff of the old ones.
  private func wake() {
    failures = 0
    schedule(after: .zero)
  }

  private func schedule(after pause: Duration) {
    guard !isStopping else { return }
    if let timer { ground.cancel(timer) }
    timer = ground.schedule(at: ground.now.advanced(by: pause)) {
      self.assumeIsolated { $0.begin() }
    }
  }

  private func begin() {
    timer = nil
    guard !isStopping else { return }
    // A turn under way may have read the outbox before the new entry came.
    guard task == nil else {
      isCalledAgain = true
      return
    }
    task = Task(executorPreference: ground) { await self.takeTurn() }
  }

  private func takeTurn() async {
    let pause = await workOff()
    task = nil
    let wait = isCalledAgain ? .zero : pause
    isCalledAgain = false
    if let wait, timer == nil { schedule(after: wait) }
  }

  /// One turn over the outbox; returns when to try again, nil: nothing is left.
  private func workOff() async -> Duration? {
    var wait: Duration?
    do throws(StoreError) {
      try await giveUpExpired()
      let pending = try await outbox.pending()
      waiting = pending.count
      for entry in pending where !isStopping {
        // It may go nowhere else; it waits for its day to end, or for the configuration.
        guard entry.binding == revoker.binding else {
          wait = max(wait ?? .zero, Self.longestPause)
          continue
        }
        if let pause = try await settle(entry) {
          wait = max(wait ?? .zero, pause)
        } else {
          waiting -= 1
        }
      }
    } catch {
      wait = Self.longestPause
    }
    return wait
  }

  private func giveUpExpired() async throws(StoreError) {
    let generation = await coordinator.generation
    for _ in 0..<(try await outbox.dropExpired()) {
      report(
        SessionEvent(
          .revocationFailed, generation: generation,
          detail: "the upstream has not taken it for a day; it is given up, and the tokens are "
            + "forgotten here"))
    }
  }

  /// Nil: the entry is gone.
  private func settle(_ entry: PendingRevocation) async throws(StoreError) -> Duration? {
    guard var pair = try await outbox.tokens(of: entry.id) else {
      try await outbox.remove(entry.id)
      return nil
    }
    let names = [
      coordinator.fingerprint(of: pair.refresh), coordinator.fingerprint(of: pair.access),
    ].compactMap(\.self)
    // The refresh token first: most servers end its access tokens with it (RFC 7009, section 2.1).
    var result = RevocationResult.done
    if let token = pair.refresh.take() {
      result = await revoke(token, isRefreshToken: true, of: names)
    }
    if result == .done, let token = pair.access.take() {
      result = await revoke(token, isRefreshToken: false, of: names)
    }
    let generation = await coordinator.generation
    switch result {
    case .done:
      failures = 0
      try await outbox.remove(entry.id)
      report(SessionEvent(.revocationDone, generation: generation))
      return nil
    case .refused(let reason):
      try await outbox.remove(entry.id)
      report(SessionEvent(.revocationFailed, generation: generation, detail: reason))
      return nil
    case .unavailable(let reason, let retryAfter):
      if entry.tries == 0 {
        report(
          SessionEvent(
            .revocationFailed, generation: generation,
            detail: "\(reason); it is tried again for a day"))
      }
      try await outbox.recordTry(of: entry.id)
      failures += 1
      let pause = min(Self.firstPause * (1 << min(failures - 1, 20)), Self.longestPause)
      // No later than its day ends, whatever was asked.
      let end = entry.addedAt.advanced(by: Self.patience + .seconds(1))
      let rest = max(.seconds(1), ground.wallTime.duration(to: end))
      return min(max(pause, retryAfter ?? .zero), rest)
    }
  }

  /// `pair`: both tokens of the entry. Where a session lives on one of them again, neither is revoked
  /// (I2).
  private func revoke(
    _ token: consuming Secret, isRefreshToken: Bool, of pair: [Fingerprint]
  ) async -> RevocationResult {
    switch await coordinator.holds(anyOf: pair) {
    case true?: return .refused(reason: "a session has been signed in with the same tokens again")
    case nil: return .unavailable(reason: "a session is being signed in", retryAfter: nil)
    case false?: break
    }
    return await revoker.revoke(
      token, isRefreshToken: isRefreshToken, deadline: ground.now.advanced(by: Self.deadline))
  }
}
