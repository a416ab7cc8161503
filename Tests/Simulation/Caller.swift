package import Execution
package import Session
package import Tips

/// One client's call. An actor of the loop, so that nothing fits between the product's answer and
/// the look at what it is worth.
package actor Caller {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  private let spec: World.Client
  private let deadline: Instant
  private let coordinator: SessionCoordinator
  private let tips: TipService
  /// What else ends with the daemon.
  private let willStop: @Sendable () async -> Void
  private let done: @Sendable (ClientAnswer, _ before: Generation) -> Void

  package init(
    spec: World.Client, deadline: Instant, coordinator: SessionCoordinator, tips: TipService,
    ground: any Ground, willStop: @escaping @Sendable () async -> Void = {},
    done: @escaping @Sendable (ClientAnswer, Generation) -> Void
  ) {
    self.spec = spec
    self.deadline = deadline
    self.coordinator = coordinator
    self.tips = tips
    self.willStop = willStop
    self.done = done
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  package func call() async {
    let before = await coordinator.generation
    do {
      done(try await answer(), before)
    } catch {
      done(explain(error), before)
    }
  }

  private func answer() async throws -> ClientAnswer {
    switch spec.call {
    case .today:
      let entry = try await tips.fetch(.today, TipDemand(wait: spec.patience))
      return .tip(entry.cached.tip.title)
    case .tip(let id):
      let entry = try await tips.fetch(.item(id), TipDemand(wait: spec.patience))
      return .tip(entry.cached.tip.title)
    case .rate:
      try await tips.rate("1", 5, wait: spec.patience)
      return .done
    case .refresh:
      _ = try await coordinator.refresh(by: deadline)
      return .refreshed
    case .logout: return .loggedOut(try await coordinator.logout().generation)
    case .forget: return .loggedOut(try await coordinator.logout(revoke: false).generation)
    case .logoutOfFirst:
      let receipt = try await coordinator.logout(ifGeneration: Generation(1))
      return receipt.previous == Generation(1)
        ? .loggedOut(receipt.generation) : .failed(ClientAnswer.wrongGeneration)
    case .importAccount(let account): return try await importing(account, over: nil)
    case .importOverFirst(let account):
      return try await importing(account, over: Generation(1))
    case .importNothing:
      _ = try await coordinator.importCredentials(
        ImportedCredentials(
          access: nil, refresh: nil, lifetime: nil, account: nil, scope: nil))
      return .failed(ClientAnswer.nothingIsTaken)
    case .inspect:
      let (stored, memory) = try await coordinator.inspect()
      return isOlder(stored, than: memory) ? .failed(ClientAnswer.twoMoments) : .done
    case .resume:
      _ = try await coordinator.resume()
      return .done
    case .intrude: return .done
    case .stop:
      await willStop()
      return await coordinator.stop() ? .done : .failed(ClientAnswer.notStored)
    }
  }

  /// The store may be a step ahead of the memory, and behind it only where that is said.
  private func isOlder(_ stored: PersistedSession, than memory: SessionSnapshot) -> Bool {
    guard memory.durable else { return false }
    if stored.generation != memory.generation { return stored.generation < memory.generation }
    let (left, right) = (stored.refreshToken, memory.refreshToken)
    return Ledger.rotation(of: left.map { Dummy.text(of: $0) })
      < Ledger.rotation(of: right.map { Dummy.text(of: $0) })
  }

  private func importing(_ account: String, over expected: Generation?) async throws -> ClientAnswer
  {
    let snapshot = try await coordinator.importCredentials(
      ImportedCredentials(
        access: Dummy.secret(account + ".a0"), refresh: Dummy.secret(account + ".r0"),
        lifetime: nil, account: account, scope: nil), ifGeneration: expected)
    return .imported(snapshot.generation)
  }

  private func explain(_ error: any Error) -> ClientAnswer {
    switch error {
    case SessionError.signedOut, TipError.signedOut: .signedOut
    case SessionError.cancelled, TipError.cancelled: .cancelled
    case SessionError.timedOut: .timedOut
    case SessionError.refreshFailed(let reason, _, let wait):
      .failed("\(ClientAnswer.refreshFailed): \(reason), \(wait?.secondsRoundedUp ?? -1) s")
    case SessionError.storeFailed(let reason): .failed(reason)
    case TipError.refused(_, 401): .failed(ClientAnswer.secondRejection)
    case TipError.unavailable(let reason, _, _):
      reason.contains("in time") ? .timedOut : .failed(reason)
    case LogoutError.notDurable(let partial): .notDurable(partial.generation)
    default: .failed("\(error)")
    }
  }
}
