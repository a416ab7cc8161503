import Session
import Tips

/// What is looked at from outside: memory against store, and the end.
extension Run {
  func checkThoseWhoLeft() {
    for client in clients where client.leftAt != nil && client.answer == nil {
      ledger.violate("I7", "\(client.name) left and was not answered at once")
    }
  }

  func checkEnd() {
    checkMemory()
    checkAnswers()
    checkRefreshes()
    checkStore()
    checkOutbox()
    if !hasStopped { checkDatabase() }
  }

  /// Memory against the store, token by token.
  private func checkMemory() {
    guard let coordinator, let tips else { return }
    let snapshot = coordinator.assumeIsolated { $0.snapshot() }
    if snapshot.facts == nil {
      if snapshot.accessToken != nil || snapshot.refreshToken != nil {
        ledger.violate("I2", "a token stays in memory after its session")
      }
      if tips.assumeIsolated({ $0.cachedTips }) > 0 {
        ledger.violate("I6", "tips stay in memory after their session")
      }
    } else if let row = disk.row, row.facts.id == snapshot.facts?.id,
      world.storeFaults == 0 || snapshot.durable
    {
      if row.access.map(Dummy.fingerprint(of:)) != snapshot.accessToken
        || row.refresh.map(Dummy.fingerprint(of:)) != snapshot.refreshToken
      {
        ledger.violate("I5", "memory and store hold different pairs")
      }
    }
    if !snapshot.durable, !hasStopped {
      ledger.violate("I5", "what the store did not take was never written")
    }
    if snapshot.activity == .refreshing {
      ledger.violate("I8", "a refresh that is over keeps its slot")
    }
  }

  private func checkAnswers() {
    for client in clients where client.answer == nil && client.hasBegun {
      ledger.violate("I7", "\(client.name) was never answered")
    }
  }

  private func checkRefreshes() {
    let rated = clients.filter { $0.spec.call == .rate && $0.answer == .done }
    if ledger.ratings.count < rated.count {
      ledger.violate("I3", "\(rated.count) ratings were sent as \(ledger.ratings.count)")
    }
    let overFirst = clients.filter { client in
      guard case .importOverFirst = client.spec.call, case .imported = client.answer else {
        return false
      }
      return true
    }
    if overFirst.count > 1 {
      ledger.violate("I2", "\(overFirst.count) sign-ins replaced one generation")
    }
    if ledger.refreshes < world.leastRefreshes, incarnation == 0 {
      ledger.violate("liveness", "only \(ledger.refreshes) refreshes")
    }
    if let most = world.mostRefreshes, ledger.refreshes > most {
      ledger.violate("I1", "\(ledger.refreshes) refreshes where \(most) are enough")
    }
    ledger.checkRequests(callers: clients.count)
  }

  private func checkStore() {
    let memory = generation
    if disk.generation != memory, !hasStopped {
      ledger.violate(
        "I9", "memory is at \(memory.number), the store at \(disk.generation.number)")
    }
    if (session != nil) != (disk.row != nil), !hasStopped {
      ledger.violate("I9", "memory and store disagree about whether there is a session")
    }
    for tip in disk.tips.values where tip.session != disk.row?.facts.id {
      ledger.violate("I6", "a tip of \(tip.tip.title) outlives its session in the store")
    }
  }

  /// Where a logout asked for revocation, nothing that the server gave the session may live on.
  private func checkOutbox() {
    guard world.revokes, !hasStopped else { return }
    if world.revocations == [.done], !world.movesUpstream, !disk.outbox.isEmpty {
      ledger.violate("liveness", "tokens wait in the outbox for ever")
    }
    let forgets = clients.contains { $0.spec.call == .forget && $0.hasBegun }
    let isCertain =
      world.exchanges == [.answered] && world.revocations == [.done] && world.storeFaults == 0
      && incarnation == 0
    if isCertain, disk.row == nil, !forgets, server.isAlive("A") {
      ledger.violate("I2", "a pair that came late was neither kept nor revoked")
    }
    let asks = clients.contains { client in
      guard client.hasBegun else { return false }
      switch client.spec.call {
      case .logout, .logoutOfFirst, .importAccount, .importOverFirst: return true
      default: return false
      }
    }
    if forgets, !asks, ledger.revocations > 0 || !disk.outbox.isEmpty {
      ledger.violate("I2", "tokens are revoked that were to be forgotten")
    }

  }

  /// A logout without revocation takes what earlier ones had queued.
  func checkForgotten(_ client: ClientState) {
    let isLast = clients.allSatisfy { other in
      switch other.spec.call {
      case .logout, .logoutOfFirst, .importAccount, .importOverFirst:
        other.answeredIn < client.calledIn
      default: true
      }
    }
    if isLast, !disk.outbox.isEmpty {
      ledger.violate("I2", "\(client.name) forgets nothing of what waits to be revoked")
    }
  }

  /// The daemon is down.
  var hasStopped: Bool {
    clients.contains {
      $0.spec.call == .stop && $0.answer != nil && $0.incarnation == incarnation
    }
  }

  /// What the store holds, in words.
  var storeEnd: String {
    let state =
      if let row = disk.row {
        "signed in as \(row.facts.account ?? "nobody"), rotation \(Ledger.rotation(of: row.access))"
      } else {
        "signed out"
      }
    let outbox = disk.outbox.isEmpty ? "" : ", \(disk.outbox.count) to revoke"
    return "\(state), generation \(disk.generation.number)\(outbox)"
  }

  var end: String {
    let answers = clients.map { $0.answer?.text ?? "-" }.joined(separator: "|")
    return "\(answers)|\(storeEnd)|\(disk.tips.count)"
  }
}
