import Execution
import Session

/// Why the session is as it is, in one sentence, and what to do, where there is something.
struct Explanation: Equatable {
  var sentence: String
  var nextStep: String?

  init(_ session: SessionSnapshot, undestroyed: String?, now: WallTime) {
    if let undestroyed {
      sentence =
        "The session has ended, but what is on disk could not be destroyed yet: \(Self.clause(undestroyed))."
      nextStep =
        "Make the state directory writable again; the daemon goes on trying, "
        + "and `brewlogctl verify-erasure` shows when it is done."
      return
    }
    switch session.phase {
    case .signedOut(let reason):
      sentence = "Nobody is signed in: \(Self.clause(reason))."
      nextStep = "Sign in: brewlogctl login"
    case .suspended(let reason):
      sentence = "The session is suspended and nothing is sent with it: \(Self.clause(reason))."
      nextStep =
        "If that is right: brewlogctl resume; if not: mend the configuration, "
        + "or brewlogctl logout"
    case .signedIn:
      self = Self.signedIn(session, now)
    }
  }

  /// A reason as a part of a sentence: some come as whole ones.
  private static func clause(_ reason: String) -> String {
    var clause = Substring(reason)
    while let last = clause.last, last == "." || last == " " { clause.removeLast() }
    return String(clause)
  }

  private init(_ sentence: String, _ nextStep: String?) {
    self.sentence = sentence
    self.nextStep = nextStep
  }

  private static func signedIn(_ session: SessionSnapshot, _ now: WallTime) -> Explanation {
    let who = session.facts?.account.map { "Signed in as \($0)" } ?? "Signed in"
    if !session.durable {
      return Explanation(
        "\(who), but the newest credentials are in memory only: the store takes no writes.",
        "Free space or mend the disk that holds the state directory; do not stop the daemon.")
    }
    if session.activity == .refreshing {
      return Explanation("\(who); the access token is being refreshed now.", nil)
    }
    if session.lastRefreshError != nil || session.activity == .backingOff {
      let error = session.lastRefreshError ?? "the reason is not known"
      let retry =
        session.activity == .backingOff
        ? "the next try waits for the backoff" : "the next request tries again"
      return Explanation(
        "\(who), but the last refresh failed: \(clause(error)); \(retry).",
        "If it lasts, look at the upstream and at [Auth] in brewlogd.conf; "
          + "brewlogctl refresh tries at once when it may.")
    }
    guard let expiry = session.facts?.accessTokenExpiresAt else {
      return Explanation(
        "\(who); the access token has no known end and is used until the upstream rejects it.",
        nil)
    }
    return expiry <= now
      ? Explanation("\(who); the access token has ended and the next request refreshes it.", nil)
      : Explanation("\(who); nothing is wrong with the session.", nil)
  }
}
