import Execution
import Requests
import Session

/// What can have caused a refresh, as seen from outside. A run may see many refreshes, but each has a
/// cause of its own: a caller who asked for it, a rejection or the end of the present token that a
/// request met, or a renewal that is due. How many are enough follows from that; failed ones are
/// spaced by the backoff (I8).
struct RefreshCauses {
  /// The present access token.
  struct Token {
    var name: String?
    var session: SessionID
    var received: WallTime
    var expires: WallTime?

    func isExpired(at time: WallTime) -> Bool {
      guard name != nil else { return true }
      return expires.map { $0 <= time } ?? false
    }

    /// A minute before its end, but not in the first half of its life.
    func isDue(at time: WallTime) -> Bool {
      guard let expires else { return false }
      let margin = min(.seconds(60), received.duration(to: expires) / 2)
      return time >= expires.advanced(by: .zero - margin)
    }
  }

  var token: Token?
  /// What the present generation's last exchange brought, and when.
  var brought: (access: String, at: WallTime)?
  /// How often each access token was rejected with no refresh for it yet.
  var rejections: [String: Int] = [:]
  /// Callers of Refresh who wait, and for how many of them none has started yet.
  var asking = 0
  var unmet = 0
  /// Business calls that have not cost their one refresh (I3).
  var requests = 0
  /// A refresh has started and has not been sent.
  var isStarted = false
  /// Refreshes for the rejection of a token younger than the brake's window.
  var hasty: (generation: Generation, times: [WallTime]) = (.none, [])

  mutating func called(_ call: World.Call) {
    switch call {
    case .refresh:
      asking += 1
      unmet += 1
    case .today, .tip, .rate: requests += 1
    default: break
    }
  }

  mutating func answered(_ call: World.Call) {
    guard call == .refresh else { return }
    asking -= 1
    unmet = min(unmet, asking)
  }

  mutating func rejected(_ token: String) { rejections[token, default: 0] += 1 }

  /// Another session is in the store, or a restart has read it.
  mutating func takeUp(_ disk: MemoryDisk) {
    token = disk.row.map { row in
      Token(
        name: row.access, session: row.facts.id, received: row.facts.accessTokenReceivedAt,
        expires: row.facts.accessTokenExpiresAt)
    }
  }

  /// What was brought is in use, stored or not.
  mutating func landed(lifetime: Duration?) {
    guard let brought else { return }
    token?.name = brought.access
    token?.received = brought.at
    token?.expires = lifetime.map { brought.at.advanced(by: $0) }
  }

  /// Who called the process that was killed asks no more.
  mutating func restarted(_ disk: MemoryDisk) {
    (asking, unmet, requests) = (0, 0, 0)
    (isStarted, brought) = (false, nil)
    hasty.times = []
    takeUp(disk)
  }
}

/// I1, I3: a refresh has a cause, and none serves for two.
extension Ledger {
  mutating func refreshStarted(
    _ cause: String, generation: Generation, disk: MemoryDisk, at time: WallTime
  ) {
    causes.isStarted = true
    // Of a session that is in the store, but not yet known to be, nothing is known here either.
    let token = disk.generation == generation ? causes.token : nil
    switch RefreshFlight.Cause(rawValue: cause) {
    case .explicit:
      if causes.unmet == 0 { violate("I1", "a refresh starts that nobody has asked for") }
      causes.unmet = max(0, causes.unmet - 1)
    case .rejected:
      countRequest()
      if let name = token?.name { checkRejection(of: name) }
      if let token { brake(token, generation, time) }
    case .expired:
      countRequest()
      if let token, !token.isExpired(at: time) {
        violate("I1", "a refresh starts for the end of \(token.name ?? "-"), which is still good")
      }
    case .proactive:
      if let token, !token.isDue(at: time) {
        violate("I1", "a renewal of \(token.name ?? "-") starts before it is due")
      }
    case nil: violate("I1", "a refresh starts for no known cause")
    }
  }

  private mutating func countRequest() {
    if causes.requests == 0 { violate("I3", "a request costs more than one refresh") }
    causes.requests = max(0, causes.requests - 1)
  }

  private mutating func checkRejection(of token: String) {
    let count = causes.rejections[token] ?? 0
    if count == 0 { violate("I1", "a refresh starts though \(token) was not rejected since") }
    causes.rejections[token] = max(0, count - 1)
  }

  /// No loop: of refreshes for the rejection of tokens younger than 30 s, five within 30 s.
  private mutating func brake(
    _ token: RefreshCauses.Token, _ generation: Generation, _ time: WallTime
  ) {
    if causes.hasty.generation != generation { causes.hasty = (generation, []) }
    guard token.received.duration(to: time) < .seconds(30) else { return }
    causes.hasty.times.removeAll { $0.duration(to: time) >= .seconds(30) }
    if causes.hasty.times.count >= 5 {
      violate("no loop", "a sixth fresh token within 30 s is refreshed since it was rejected")
    }
    causes.hasty.times.append(time)
  }

  mutating func checkIsStarted(_ token: String) {
    if !causes.isStarted { violate("I1", "\(token) is sent by no refresh that has started") }
    causes.isStarted = false
  }
}
