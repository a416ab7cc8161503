import BrewlogAPI
import Configuration
import Execution
import Platform
import Requests
import Session
import Tips
import Varlink

/// `org.brewlog.Service`.
extension MethodHandler {
  func health(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    try parameters.finish()
    let (session, undestroyed, health) = coordinator.assumeIsolated {
      ($0.snapshot(), $0.undestroyed, $0.storeHealth)
    }
    let (held, fault, count, isLoading) = tips.assumeIsolated {
      ($0.heldToday(), $0.storeFault, $0.cachedTips, $0.isLoading)
    }
    let away = requester.assumeIsolated { $0.away?.reason }
    let store = storeCheck(session, undestroyed, health)
    let checks = [
      sessionCheck(session), refreshCheck(session), upstreamCheck(away), store,
      isLoading
        ? Check(name: "tips", ok: true, detail: "the stored ones are being read")
        : tipCheck(held, fault, count),
    ]
    return .now(
      encode(
        HealthReply(
          // Signed out or an upstream that is away is no reason to restart or replace the daemon.
          ready: undestroyed == nil && session.durable && health.failure == nil, checks: checks,
          uptimeSeconds: startedAt.duration(to: loop.now).secondsRoundedDown)))
  }

  private func sessionCheck(_ session: SessionSnapshot) -> Check {
    switch session.phase {
    case .signedIn:
      Check(
        name: "session", ok: true,
        detail: "signed in" + (session.facts?.account.map { " as \($0)" } ?? ""))
    case .signedOut(let reason):
      Check(
        name: "session", ok: false, detail: "signed out: \(reason); sign in by `brewlogctl login`")
    case .suspended(let reason): Check(name: "session", ok: false, detail: "suspended: \(reason)")
    }
  }

  private func refreshCheck(_ session: SessionSnapshot) -> Check {
    if let error = session.lastRefreshError {
      return Check(name: "refresh", ok: false, detail: "the last refresh failed: \(error)")
    }
    return Check(name: "refresh", ok: true, detail: "no refresh has failed since the last success")
  }

  private func upstreamCheck(_ away: String?) -> Check {
    if let away {
      return Check(
        name: "upstream", ok: false,
        detail: "away: \(away); it is asked again by itself, tips are served from the cache")
    }
    return Check(name: "upstream", ok: true, detail: "the last requests were answered")
  }

  private func storeCheck(
    _ session: SessionSnapshot, _ undestroyed: String?, _ health: StoreHealth
  ) -> Check {
    if let undestroyed {
      return Check(
        name: "store", ok: false,
        detail: "a logout holds in memory but not yet on disk: \(undestroyed)")
    }
    if let words = SessionCoordinator.words(for: health) {
      return Check(name: "store", ok: false, detail: words)
    }
    if !session.durable {
      return Check(
        name: "store", ok: false,
        detail: "the newest credentials are in memory only; the store takes no writes")
    }
    return Check(name: "store", ok: true, detail: "the session store takes writes")
  }

  private func tipCheck(_ held: TipEntry?, _ fault: String?, _ count: Int) -> Check {
    if let fault {
      return Check(name: "tips", ok: false, detail: "tips are kept in memory only: \(fault)")
    }
    guard let held else {
      return Check(name: "tips", ok: true, detail: "\(count) cached, none of the day yet")
    }
    let age = held.age.secondsRoundedDown
    return Check(
      name: "tips", ok: true,
      detail: "\(count) cached, the tip of the day fetched \(age) s ago"
        + (held.staleReason.map { ", \($0)" } ?? ""))
  }

  func configuration(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    try parameters.finish()
    let settings = configuration.settings.map {
      Setting(section: $0.section, key: $0.key, value: $0.value, origin: $0.origin)
    }
    return .now(encode(ConfigurationReply(settings: settings)))
  }

  func canI(_ parameters: inout ParameterReader, _ caller: Caller) throws(VarlinkError) -> Answer {
    let name = try parameters.string("method")
    try parameters.finish()
    // Those of `org.varlink.service` are open to whoever can connect.
    guard !name.hasPrefix("org.varlink.service.") else {
      return .now(
        encode(CanIReply(allowed: true, rule: "whoever can connect may call this")))
    }
    guard let method = MethodTable.method(named: name) else { throw .invalidParameter("method") }
    let verdict = access.verdict(on: method, for: caller.peer)
    return .now(
      encode(
        CanIReply(allowed: verdict.allowed, rule: verdict.rule, remedy: verdict.remedy)))
  }
}
