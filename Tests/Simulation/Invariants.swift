import Execution
import Requests
import Session
import Tips

// The table of invariants, as far as a run can break them. Each check says which one it is.

/// I1: at most one refresh is in flight; a token that has been replaced is never refreshed again.
extension Ledger {
  mutating func checkOneExchange(_ token: String) {
    if openExchanges > 1 { violate("I1", "\(token) is sent while another exchange is open") }
  }

  mutating func checkIsNewest(_ token: String, _ disk: MemoryDisk) {
    if disk.row?.refresh != token {
      violate("I1", "\(token) is sent, but the store holds \(disk.row?.refresh ?? "nothing")")
    }
  }
}

extension Ledger {
  mutating func noteReplacement(_ disk: MemoryDisk) {
    if let old = lastRow, let new = disk.row, old.facts.id == new.facts.id,
      let token = old.refresh, token != new.refresh
    {
      replaced.insert(token)
    }
    lastRow = disk.row
  }

  mutating func checkIsNotReplaced(_ token: String) {
    if replaced.contains(token) { violate("I1", "\(token) is sent, which was replaced before") }
  }

  /// Where no session ends but by a new sign-in with the same tokens, an answer cannot go lost.
  mutating func checkIsNotAnswered(_ token: String) {
    if answeredTokens.contains(token) {
      violate("I1", "\(token) is sent, which the server has answered with another")
    }
  }
}

/// I2: every move of the generation is a boundary. Nothing of the old one goes upstream, is answered
/// across it, or comes back to the store.
extension Ledger {
  mutating func checkOwner(of token: String, _ session: SessionID?) {
    let owner = session.flatMap { accounts[$0] }
    if owner != Self.account(of: token) {
      violate("I2", "\(token) goes upstream while \(owner ?? "nobody") is signed in")
    }
  }

  mutating func checkBoundary(
    _ client: Run.ClientState, _ answer: ClientAnswer, _ moment: Moment
  ) {
    guard moment.before != moment.present else { return }
    switch answer {
    case .tip: violate("I2", "\(client.name) is served across a boundary")
    case .refreshed: violate("I2", "\(client.name)'s refresh succeeds across a boundary")
    default: break
    }
  }

  mutating func checkNothingReturns(_ disk: MemoryDisk) {
    if let row = disk.row, row.facts.generation <= loggedOut {
      violate("I2", "the store holds generation \(row.facts.generation.number) after its logout")
    }
  }

  /// Only an ended session's tokens are revoked.
  mutating func revocationSent(_ token: String, disk: MemoryDisk) {
    revocations += 1
    if let row = disk.row, row.access == token || row.refresh == token {
      violate("I2", "\(token) is revoked while its session lives")
    }
  }
}

/// I3: over both tries of a request together at most two retries; what is not safe to repeat carries
/// one key and one body, byte for byte.
extension Ledger {
  /// The first try, two retries, and the one after a refresh.
  private static let mostTries = 4

  mutating func count(_ request: HTTPRequest) {
    guard request.method == .post else {
      sentByPath[request.url, default: 0] += 1
      return
    }
    guard let key = request.fields.first(where: { $0.name == "Idempotency-Key" })?.value else {
      return violate("I3", "a rating goes out without a key")
    }
    if let known = ratings[key], known.body != request.body {
      violate("I3", "a rating is repeated with another body")
    }
    ratings[key] = (request.body, (ratings[key]?.count ?? 0) + 1)
  }

  mutating func checkRequests(callers: Int) {
    for (url, count) in sentByPath where count > callers * Self.mostTries {
      violate("I3", "\(url) was sent \(count) times")
    }
    for rating in ratings.values where rating.count > Self.mostTries {
      violate("I3", "a rating was sent \(rating.count) times")
    }
    if ratings.count > callers { violate("I3", "a rating was repeated under another key") }
  }
}

/// I4: what reaches the store has a permit of the generation that it holds then.
extension Ledger {
  mutating func wrote(_ what: String, for generation: Generation, _ disk: MemoryDisk) {
    if disk.generation != generation || disk.row?.facts.generation != generation {
      violate("I4", "\(what) of generation \(generation.number) is written over another")
    }
  }
}

/// I5: a new refresh token is on disk before anyone is given the access token that came with it;
/// before one is sent, the store has recorded the intent.
extension Ledger {
  mutating func checkIntent(_ token: String, _ disk: MemoryDisk) {
    if disk.intent?.token != Dummy.fingerprint(of: token) {
      violate("I5", "\(token) is sent without its intent in the store")
    }
  }

  mutating func checkIsStored(_ token: String, _ session: SessionID?, _ disk: MemoryDisk) {
    guard let session else { return }
    let rotation = Self.rotation(of: token)
    given[session] = max(given[session] ?? 0, rotation)
    guard let row = disk.row, row.facts.id == session, let access = row.access else { return }
    if Self.rotation(of: access) < rotation, !mayLosePair {
      violate("I5", "\(token) is given out while the store holds \(access)")
    }
  }
}

/// I6: a tip belongs to the session that fetched it, in memory and in the store.
extension Ledger {
  mutating func checkServed(_ client: Run.ClientState, _ owner: String, _ moment: Moment) {
    if moment.session.flatMap({ accounts[$0] }) != owner {
      violate("I6", "\(client.name) is served a tip for \(owner)")
    }
  }

  mutating func checkTips(_ disk: MemoryDisk) {
    for tip in disk.tips.values where accounts[tip.session] != tip.tip.title {
      violate("I6", "a tip for \(tip.tip.title) is stored under another session")
    }
  }
}

/// I7: every caller gets exactly one answer, the right one, within its deadline; who leaves gets its
/// own at once.
extension Ledger {
  mutating func checkOneAnswer(
    _ client: Run.ClientState, _ answer: ClientAnswer, _ moment: Moment
  ) {
    let world = moment.world
    if client.answers > 1 { violate("I7", "\(client.name) is answered twice") }
    if client.isBounded, moment.now > client.deadline {
      violate("I7", "\(client.name) is answered after its deadline")
    }
    if let left = client.leftAt, moment.now > left {
      violate("I7", "\(client.name) left and was not answered at once")
    }
    switch answer {
    case .timedOut where world.isPrompt:
      violate("I7", "\(client.name) times out, though nothing was late")
    case .signedOut where moment.before == moment.present && moment.session != nil:
      violate("I7", "\(client.name) is told SignedOut while the session lives")
    case .cancelled where client.leftAt == nil:
      violate("I7", "\(client.name) is cancelled, but did not leave")
    // A second 401 is the caller's answer (I3): another refresh may have voided the new token.
    case .failed(ClientAnswer.secondRejection) where refreshes > 1: break
    case .failed(let reason) where client.isBounded && world.isKind:
      violate("liveness", "\(client.name) fails, though nothing did: \(reason)")
    case .failed(let reason)
    where client.spec.call == .resume && moment.before == moment.present
      && moment.session != nil && world.storeFaults == 0:
      violate("liveness", "\(client.name) may not resume: \(reason)")
    case .failed(ClientAnswer.wrongGeneration):
      violate("I2", "\(client.name) ends another generation than it named")
    case .failed(ClientAnswer.nothingIsTaken):
      violate("I7", "\(client.name) signs in with nothing")
    case .failed(ClientAnswer.twoMoments) where world.storeFaults == 0:
      violate("I9", "\(client.name) is shown memory and store of two moments")
    case .failed(ClientAnswer.notStored) where world.storeFaults == 0:
      violate("I9", "a stop leaves something unstored")
    default: break
    }
  }
}

/// I8: a failed refresh fails all its waiters alike; the next starts no sooner than the backoff says,
/// whoever asks, restarts included.
extension Ledger {
  func pause(_ failures: Int) -> Duration {
    min(.seconds(1) * (1 << max(0, min(failures - 1, 8))), .seconds(300))
  }

  /// A refresh of the present generation has failed: the next waits.
  mutating func exchangeFailed(
    _ failure: RefreshFailure, generation: Generation, at wallTime: WallTime
  ) {
    if notBefore?.generation != generation { (failures, unclear) = (0, 0) }
    unclear = failure.kind == .refusedUnclearly ? unclear + 1 : 0
    if unclear >= 3 { mayEnd = true }
    guard failure.kind != .misconfigured else {
      notBefore = (generation, WallTime(milliseconds: .max))
      return
    }
    failures += 1
    lastSent?.failed = true
    notBefore = (
      generation, wallTime.advanced(by: max(pause(failures), failure.retryAfter ?? .zero))
    )
  }

  mutating func checkBackoff(_ token: String, _ generation: Generation, _ wallTime: WallTime) {
    guard let held = notBefore, held.generation == generation, wallTime < held.time else { return }
    violate("I8", "\(token) is sent \(wallTime.duration(to: held.time)) before the backoff ends")
  }

  mutating func checkAlike(
    _ client: Run.ClientState, _ answer: ClientAnswer, _ moment: Moment
  ) {
    guard case .failed(let text) = answer, client.spec.call == .refresh,
      moment.world.storeFaults == 0, text.hasPrefix(ClientAnswer.refreshFailed)
    else { return }
    if let other = refusal, other.at == moment.now, other.generation == moment.before,
      other.text != text
    {
      violate("I8", "one waiter is told \"\(other.text)\", another \"\(text)\"")
    }
    refusal = (moment.now, moment.before, text)
  }
}

/// I9: a restart finds the last published state or the one that was about to be; never an older one,
/// never a session whose logout had been answered.
extension Ledger {
  mutating func checkNothingAges(_ disk: MemoryDisk) {
    if disk.generation < lastDisk { violate("I9", "the store's generation goes back") }
    if let row = disk.row, let latest = given[row.facts.id],
      Self.rotation(of: row.access) < latest, !mayLosePair
    {
      violate("I9", "the store goes back to \(row.access ?? "nothing")")
    }
  }

  /// A session ends when somebody asks for it, or the token endpoint has refused it.
  mutating func checkEndIsWanted(_ disk: MemoryDisk) {
    if hadSession, disk.row == nil, !mayEnd { violate("I9", "the session ends for no reason") }
    hadSession = disk.row != nil
  }

  mutating func restarted(_ disk: MemoryDisk) {
    openExchanges = 0
    unclear = 0
    refusal = nil
    causes.restarted(disk)
    if let row = disk.row {
      if row.facts.generation <= max(loggedOut, promised) {
        violate("I9", "a restart undoes an answered logout")
      }
      if let latest = given[row.facts.id], Self.rotation(of: row.access) < latest, !mayLosePair {
        violate("I9", "a restart finds an older pair than was given out")
      }
    }
    if disk.generation < max(published, promised) {
      violate("I9", "a restart finds an older generation")
    }
    takeUpBackoff(disk)
  }

  /// What the next run can know of failures is what is in the store: the failure itself, or the
  /// intent of an exchange whose failure did not get there.
  private mutating func takeUpBackoff(_ disk: MemoryDisk) {
    let intended = disk.intent?.startedAt.advanced(by: .seconds(1))
    var time = [disk.backoff?.notBefore, intended].compactMap(\.self).max()
    if let lastSent, lastSent.failed, lastSent.generation == disk.generation {
      time = max(time ?? lastSent.at, lastSent.at.advanced(by: pause(failures)))
    } else {
      failures = disk.backoff?.failures ?? (intended == nil ? 0 : 1)
    }
    notBefore = time.map { (disk.generation, $0) }
  }
}

/// I11: a session's tokens go only to where it was signed in, whatever the configuration says later.
extension Ledger {
  mutating func checkDestination(
    of token: String, _ disk: MemoryDisk, _ binding: UpstreamBinding
  ) {
    if let row = disk.row, row.facts.binding != binding, !isResumed {
      violate("I11", "\(token) goes to another upstream than it came from")
    }
  }
}

extension ClientAnswer {
  static let notStored = "not all is stored"
  static let wrongGeneration = "another generation was ended"
  static let nothingIsTaken = "nothing was taken for credentials"
  static let twoMoments = "memory and store are of two moments"
  static let secondRejection = "a second 401"
  static let refreshFailed = "RefreshFailed"
}
