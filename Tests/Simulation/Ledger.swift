import Execution
import Requests
package import Session
import Tips

/// Watches one run and holds it against the invariants, by their numbers. What it is told are facts:
/// a token was sent, the store changed, a caller was answered. Knows the tokens by name (`A.r1`:
/// account A, refresh token, after one rotation).
struct Ledger {
  private(set) var violations: [String] = []
  private(set) var refreshes = 0
  var revocations = 0

  var openExchanges = 0
  /// The refreshes that may not begin before this, by I8, of this generation.
  var notBefore: (generation: Generation, time: WallTime)?
  var failures = 0
  /// Refusals in a row that named no known reason.
  var unclear = 0
  /// Somebody has asked for the session's end, or the server has refused it.
  var mayEnd = false
  var causes = RefreshCauses()
  /// A person has said that another upstream is right.
  var isResumed = false
  /// And has been told that it is done.
  var hasResumed = false
  var hadSession = false
  /// When the last exchange was sent, and whether it failed.
  var lastSent: (generation: Generation, at: WallTime, failed: Bool)?
  /// What the last failed refresh was to its waiters, and when.
  var refusal: (at: Instant, generation: Generation, text: String)?
  var accounts: [SessionID: String] = [:]
  /// The latest rotation of each session whose access token anybody was given.
  var given: [SessionID: Int] = [:]
  /// What the last answered logout ended.
  var loggedOut: Generation = .none
  /// The same, of one whose rows may still stand in the store, for a restart to obey.
  var promised: Generation = .none
  var published: Generation = .none
  var lastDisk: Generation = .none
  var lastRow: MemoryDisk.Row?
  /// Refresh tokens whose replacement was committed, and those that the server has answered with one.
  var replaced: Set<String> = []
  var answeredTokens: Set<String> = []
  /// A pair was given out although the disk did not take it: the one exception to I5 and I9.
  var mayLosePair = false
  var sentByPath: [String: Int] = [:]
  /// Each rating's body and how often it was sent, by its idempotency key.
  var ratings: [String: (body: [UInt8]?, count: Int)] = [:]

  mutating func violate(_ invariant: String, _ what: String) {
    violations.append("\(invariant): \(what)")
  }

  static func account(of token: String) -> String { String(token.prefix { $0 != "." }) }

  static func rotation(of token: String?) -> Int {
    Int((token ?? "").drop { $0 != "." }.dropFirst(2)) ?? 0
  }

  // MARK: What happened

  mutating func exchangeSent(
    _ token: String, session: SessionID?, generation: Generation, disk: MemoryDisk,
    binding: UpstreamBinding, wallTime: WallTime
  ) {
    refreshes += 1
    openExchanges += 1
    checkOneExchange(token)
    checkIsStarted(token)
    checkIsNotReplaced(token)
    checkOwner(of: token, session)
    // A session that is in the store already, but not yet known to be, is not this step's doing.
    if disk.generation == generation {
      checkIsNewest(token, disk)
      checkIntent(token, disk)
    }
    checkBackoff(token, generation, wallTime)
    checkDestination(of: token, disk, binding)
    lastSent = (generation, wallTime, false)
  }

  mutating func exchangeEnded() { openExchanges -= 1 }

  mutating func refreshSucceeded(lifetime: Duration?) {
    notBefore = nil
    failures = 0
    causes.landed(lifetime: lifetime)
  }

  mutating func requestSent(
    _ request: HTTPRequest, _ token: String?, session: SessionID?, disk: MemoryDisk,
    binding: UpstreamBinding
  ) {
    guard let token else { return violate("I2", "a request goes out without a token") }
    checkOwner(of: token, session)
    checkIsStored(token, session, disk)
    checkDestination(of: token, disk, binding)
    count(request)
  }

  mutating func storeFailed() { mayLosePair = true }

  mutating func storeChanged(_ disk: MemoryDisk) {
    if let row = disk.row { accounts[row.facts.id] = row.facts.account }
    if disk.row?.facts.id != causes.token?.session { causes.takeUp(disk) }
    checkNothingReturns(disk)
    checkNothingAges(disk)
    checkTips(disk)
    checkEndIsWanted(disk)
    noteReplacement(disk)
    lastDisk = disk.generation
  }

  mutating func answered(_ client: Run.ClientState, _ answer: ClientAnswer, _ moment: Moment) {
    checkOneAnswer(client, answer, moment)
    checkBoundary(client, answer, moment)
    checkAlike(client, answer, moment)
    if client.spec.call == .resume, answer == .done { hasResumed = true }
    switch answer {
    case .tip(let owner): checkServed(client, owner, moment)
    case .loggedOut(let generation):
      loggedOut = max(loggedOut, generation)
      published = max(published, generation)
    case .notDurable(let generation): promised = max(promised, generation)
    case .imported(let generation): published = max(published, generation)
    case .refreshed, .signedOut, .cancelled, .timedOut, .failed, .done: break
    }
  }

  /// When an answer came, and to what.
  struct Moment {
    let now: Instant
    let session: SessionID?
    /// The generation when the client called, and now.
    let before: Generation
    let present: Generation
    let world: World
  }
}

/// What a client was told.
package enum ClientAnswer: Equatable, Sendable {
  case tip(String)
  case refreshed
  case loggedOut(Generation)
  /// `LogoutNotDurable`: it holds in memory, and a tombstone tells a restart of it.
  case notDurable(Generation)
  case imported(Generation)
  case signedOut
  case cancelled
  case timedOut
  case done
  case failed(String)

  var text: String {
    switch self {
    case .tip(let owner): "a tip for \(owner)"
    case .refreshed: "refreshed"
    case .notDurable(let generation): "logged out, not durable, generation \(generation.number)"
    case .loggedOut(let generation): "logged out, generation \(generation.number)"
    case .imported(let generation): "imported, generation \(generation.number)"
    case .signedOut: "SignedOut"
    case .cancelled: "cancelled"
    case .timedOut: "timed out"
    case .done: "done"
    case .failed(let reason): "failed: \(reason)"
    }
  }
}
