import Execution
import Session
import Tips

/// One client's call. An actor of the loop, so that nothing fits between the product's answer and
/// the look at what it is worth.
actor Caller {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let spec: World.Client
  private let deadline: Instant
  private let coordinator: SessionCoordinator
  private let tips: TipService
  private let done: @Sendable (ClientAnswer, _ before: Generation) -> Void

  init(
    spec: World.Client, deadline: Instant, coordinator: SessionCoordinator, tips: TipService,
    lane: Lane, done: @escaping @Sendable (ClientAnswer, Generation) -> Void
  ) {
    self.spec = spec
    self.deadline = deadline
    self.coordinator = coordinator
    self.tips = tips
    self.done = done
    unownedExecutor = lane.asUnownedSerialExecutor()
  }

  func call() async {
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
    case .importAccount(let account):
      let snapshot = try await coordinator.importCredentials(
        ImportedCredentials(
          access: Dummy.secret(account + ".a0"), refresh: Dummy.secret(account + ".r0"),
          lifetime: nil, account: account, scope: nil))
      return .imported(snapshot.generation)
    case .stop: return await coordinator.stop() ? .done : .failed(ClientAnswer.notStored)
    }
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
