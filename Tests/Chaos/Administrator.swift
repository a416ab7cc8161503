import DemoUpstream
import Glibc
import JSON
import Platform
import Simulation

/// One of two who sign in and out as they like, sometimes only if nothing has changed since they
/// looked. Runs on a thread of its own until it is told to go.
struct Administrator: Sendable {
  let name: String
  let caller: Caller
  let upstream: DemoUpstream
  let ledger: Ledger
  let isOver: Locked<Bool>
  let lifetime: Int64

  func work(seed: UInt64) {
    var chance = SplitMix(state: seed)
    var seen: Int64 = 0
    signIn(ifGeneration: nil)
    while !isOver.withLock({ $0 }) {
      let isConditional = Int.random(in: 0..<3, using: &chance) == 0
      switch Int.random(in: 0..<100, using: &chance) {
      case 0..<18: signIn(ifGeneration: isConditional ? seen : nil)
      case 18..<26:
        logOut(ifGeneration: isConditional ? seen : nil, revoke: Bool.random(using: &chance))
      case 26..<65: refresh()
      default: seen = look() ?? seen
      }
      usleep(UInt32.random(in: 20_000..<400_000, using: &chance))
    }
  }

  private func signIn(ifGeneration: Int64?) {
    let tokens = upstream.signIn()
    let account = "s" + tokens.refresh.split(separator: "-").suffix(1).joined()
    ledger.obtained(account, upstreamArrivals: upstream.arrivals)
    var parameters: [String: JSONValue] = [
      "accessToken": .string(tokens.access), "refreshToken": .string(tokens.refresh),
      "account": .string(account), "expiresInSeconds": .integer(lifetime),
    ]
    parameters["ifGeneration"] = ifGeneration.map { .integer($0) }
    let (outcome, sent) = caller.call(
      "org.brewlog.Session.ImportCredentials", .object(parameters))
    let condition = ifGeneration.map { " if the generation is \($0)" } ?? ""
    tell("signs \(account) in\(condition)", outcome)
    switch outcome {
    case .reply(let values):
      guard let seen = Sighting(values["session"]) else {
        return ledger.violate("an import's reply has no session")
      }
      ledger.count { $0.signIns += 1 }
      // Another one may have signed in before the reply was made; then the later state is shown.
      if values["session"]?["account"]?.string == account {
        ledger.moved("imported", to: seen.generation, account: account, since: sent)
      }
      ledger.saw(seen, since: sent, in: "ImportCredentials")
    case .failure("org.brewlog.Session.GenerationMoved", let values):
      ledger.saw(
        generation: values["generation"]?.integer ?? 0, since: sent, in: "ImportCredentials")
    case .failure("org.brewlog.Session.StoreFailed", let values):
      excuse(sent, "ImportCredentials answers StoreFailed", values)
    case .failure(let name, _): ledger.violate("ImportCredentials answers \(name)")
    case .nobody: break
    }
  }

  private func logOut(ifGeneration: Int64?, revoke: Bool) {
    var parameters: [String: JSONValue] = ["revoke": .bool(revoke)]
    parameters["ifGeneration"] = ifGeneration.map { .integer($0) }
    ledger.count { $0.logoutsSent += 1 }
    let (outcome, sent) = caller.call("org.brewlog.Session.Logout", .object(parameters))
    tell("logs out\(ifGeneration.map { " if the generation is \($0)" } ?? "")", outcome)
    switch outcome {
    case .reply(let values):
      let before = values["previousGeneration"]?.integer ?? 0
      let after = values["generation"]?.integer ?? 0
      if let ifGeneration, ifGeneration != before {
        ledger.violate("a logout for generation \(ifGeneration) has ended generation \(before)")
      }
      ledger.saw(generation: after, since: sent, in: "Logout")
      // Without a session nothing moves.
      guard after > before else { return }
      ledger.count { $0.logouts += 1 }
      ledger.moved("signedOut", to: after, account: nil, since: sent)
    case .failure("org.brewlog.Session.GenerationMoved", let values):
      if values["generation"]?.integer == ifGeneration {
        ledger.violate("a logout for the present generation was answered GenerationMoved")
      }
    case .failure("org.brewlog.Session.LogoutNotDurable", let values):
      // A slow machine's disk may take longer than a logout waits; it goes on, and a restart obeys.
      if values["reason"]?.string?.contains("has not ended the session within") != true {
        ledger.violate("a logout was not durable, on a disk where removing works")
      }
    case .failure(let name, _): ledger.violate("Logout answers \(name)")
    case .nobody: break
    }
  }

  private func refresh() {
    let (outcome, sent) = caller.call("org.brewlog.Session.Refresh")
    tell("refreshes", outcome)
    switch outcome {
    case .reply(let values):
      if let seen = Sighting(values["session"]) { ledger.saw(seen, since: sent, in: "Refresh") }
    case .failure("org.brewlog.Session.StoreFailed", let values):
      excuse(sent, "Refresh answers StoreFailed", values)
    case .failure("org.brewlog.Session.SignedOut", let values):
      ledger.saw(generation: values["generation"]?.integer ?? 0, since: sent, in: "Refresh")
    case .failure("org.brewlog.Session.RefreshFailed", _), .nobody: break
    case .failure(let name, _): ledger.violate("Refresh answers \(name)")
    }
  }

  private func look() -> Int64? {
    let (outcome, sent) = caller.call("org.brewlog.Session.Status")
    guard case .reply(let values) = outcome, let seen = Sighting(values["session"]) else {
      return nil
    }
    ledger.saw(seen, since: sent, in: "Status")
    return seen.generation
  }

  /// Right only where the disk was full, or the daemon has been told to stop.
  private func excuse(_ sent: Ledger.Sent, _ what: String, _ values: JSONValue) {
    if ledger.diskWasFull(since: sent) || ledger.hasEnded(run: sent.run) { return }
    ledger.violate("\(what), and the disk was not full: \(values["reason"]?.string ?? "")")
  }

  private func tell(_ what: String, _ outcome: Caller.Outcome) {
    let end =
      switch outcome {
      case .reply(let values):
        "done, generation "
          + ((values["session"]?["generation"] ?? values["generation"])?.integer)
          .map { String($0) }.orUnknown
      case .failure(let error, _): error.split(separator: ".").last.map { String($0) }.orUnknown
      case .nobody: "no answer, the daemon is away"
      }
    ledger.note("\(name) \(what): \(end)")
  }
}

extension Optional<String> {
  fileprivate var orUnknown: String { self ?? "unknown" }
}
