import DemoUpstream
import Execution
import FoundationEssentials
import Glibc
import JSON
import Platform
import TestSupport

/// Afterwards: what the daemon is, holds and tells, against the ledger and the upstream.
struct Reckoning {
  let host: Host
  let ledger: Ledger
  let caller: Caller

  /// With the crowd and without chaos: what is used does not grow. Counted in answers, not in time:
  /// a slow machine comes to the same.
  func watchCalm(clients: Int) {
    // After a restart all come anew, and what is kept for each of them is made.
    waitForAnswers(2 * clients)
    let before = leastFootprint()
    waitForAnswers(2 * clients)
    let after = leastFootprint()
    ledger.note("in calm: \(before), then \(after)")
    if after.privateKilobytes > before.privateKilobytes + 4_096 {
      ledger.violate("memory has grown in calm: \(before), then \(after)")
    }
    if after.threads > before.threads + 2 {
      ledger.violate("threads have grown in calm: \(before), then \(after)")
    }
  }

  private func waitForAnswers(_ count: Int) {
    let enough = ledger.counts.answered + count
    let limit = SystemClock.now.advanced(by: Caller.patience * 4)
    while ledger.counts.answered < enough {
      usleep(50_000)
      guard SystemClock.now < limit else {
        return ledger.violate("in calm, \(count) answers took longer than \(Caller.patience * 4)")
      }
    }
  }

  /// Of a second's: a look-up's thread or a call's memory is there for a moment only.
  private func leastFootprint() -> Footprint {
    var least = Footprint(of: host.pid)
    for _ in 0..<20 {
      usleep(50_000)
      least = least.least(Footprint(of: host.pid))
    }
    return least
  }

  func settle() throws {
    checkDescriptors()
    let session = try checkSession()
    try History(host: host, ledger: ledger).check(against: session)
    checkExchanges()
    checkErasure()
    checkState()
    try host.end(SIGTERM)
    checkFiles()
  }

  /// All clients have gone: no more is open than in a daemon that has just been started.
  private func checkDescriptors() {
    var footprint = Footprint(of: host.pid)
    let limit = SystemClock.now.advanced(by: Caller.patience)
    while footprint.descriptors > Self.descriptors, SystemClock.now < limit {
      usleep(50_000)
      footprint = Footprint(of: host.pid)
    }
    if footprint.descriptors > Self.descriptors {
      ledger.violate("descriptors are left over: \(footprint)")
    }
  }

  /// Loop, store and its files, socket, lock, log, and a few connections to the upstream.
  private static let descriptors = 40

  /// The session that is there works, as long as the upstream lets it. Returns the state.
  private func checkSession() throws -> JSONValue {
    for _ in 0..<40 {
      host.upstream.expireAccessTokens()
      let (outcome, sent) = caller.call("org.brewlog.Session.Refresh")
      switch outcome {
      case .reply(let values):
        if let seen = Sighting(values["session"]) { ledger.saw(seen, since: sent, in: "Refresh") }
      case .failure("org.brewlog.Session.SignedOut", _): break
      case .failure("org.brewlog.Session.RefreshFailed", let values):
        // Held back by what has failed before; that may be for longer than is waited here.
        if values["retryAfterSeconds"]?.integer ?? 99 > 12 {
          ledger.note("a refresh is held back for longer than is waited for")
          break
        }
        usleep(400_000)
        continue
      case .failure(let name, _): ledger.violate("with all back, Refresh answers \(name)")
      case .nobody: ledger.violate("with all back, nobody answers")
      }
      break
    }
    let (outcome, sent) = caller.call("org.brewlog.Session.Status")
    guard case .reply(let values) = outcome, let session = values["session"],
      let seen = Sighting(session)
    else { throw DaemonFailure(description: "no status with all back") }
    ledger.saw(seen, since: sent, in: "Status")
    ledger.note("at the end: generation \(seen.generation), \(seen.state)")
    if seen.state == "suspended" { ledger.violate("the session is suspended") }
    if !seen.isDurable { ledger.violate("with a disk that has room, the state is not durable") }
    return session
  }

  /// A token that was replaced is not sent again, unless the replacement may never have arrived.
  private func checkExchanges() {
    var spent: [String: TokenExchange] = [:]
    var newest: [String: Int] = [:]
    for exchange in host.upstream.exchanges {
      guard let origin = exchange.origin, let number = exchange.number else {
        ledger.violate("a refresh token was sent that was never handed out")
        continue
      }
      if number < newest[origin] ?? 0 {
        ledger.violate("\(exchange.token) was sent after a newer one of its sign-in")
      }
      newest[origin] = max(number, newest[origin] ?? 0)
      switch exchange.outcome {
      case .granted: spent[exchange.token] = exchange
      case .spent:
        if let first = spent[exchange.token], !isExcused(first, exchange) {
          ledger.violate(
            "\(exchange.token) was sent again (requests \(first.entry) and \(exchange.entry)), "
              + "and nothing had kept its replacement from arriving")
        }
      case .revoked, .unknown: break
      }
    }
  }

  private func isExcused(_ first: TokenExchange, _ second: TokenExchange) -> Bool {
    !first.isAnswered || ledger.wasCut(between: first.entry, and: second.entry)
  }

  private func checkErasure() {
    let (outcome, _) = caller.call("org.brewlog.Session.VerifyErasure")
    guard case .reply(let values) = outcome else {
      return ledger.violate("VerifyErasure: \(outcome)")
    }
    if values["clean"]?.bool != true {
      let findings = values["findings"]?.array?.compactMap(\.string) ?? []
      ledger.violate("of earlier sessions is left: \(findings.joined(separator: "; "))")
    }
  }

  private func checkState() {
    let (outcome, _) = caller.call("org.brewlog.Session.Inspect")
    guard case .reply(let values) = outcome else { return ledger.violate("Inspect: \(outcome)") }
    if values["consistent"]?.bool != true {
      ledger.violate("memory and disk differ")
    }
  }

  /// A host that is killed damages no file, and leaves none behind.
  private func checkFiles() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: host.stateDirectory)) ?? []
    for name in names where name.contains(".damaged-") || name.contains(".new") {
      ledger.violate("left in the state directory: \(name)")
    }
    if names.count(where: { $0.hasSuffix(".key") && $0.hasPrefix("session-") }) > 1 {
      ledger.violate("more than one session's key is left: \(names.sorted())")
    }
  }
}

extension TokenExchange {
  /// The number in the label.
  var number: Int? { token.split(separator: "-").last.flatMap { Int($0) } }
}
