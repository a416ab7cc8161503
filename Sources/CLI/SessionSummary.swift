import BrewlogAPI

/// A snapshot in sentences; `status` and the commands that change the session show it.
struct SessionSummary {
  let snapshot: Snapshot
  let context: CommandContext
  let fields: FieldList

  func show() {
    showState()
    guard snapshot.state != .signedOut else { return }
    if let upstream = snapshot.upstream { fields.row("Upstream", StyledText(upstream)) }
    showToken()
    if let error = snapshot.lastRefreshError {
      fields.row("Last error", StyledText(error, .warning))
    }
    if let needed = snapshot.loginNeededBy {
      let left = context.words.secondsUntil(needed) ?? Int.max
      let when = left > 0 ? context.words.relative(needed) : "now"
      fields.row(
        "Sign-in", StyledText("needed again \(when)", left < 86_400 ? .warning : .plain))
      if let basis = snapshot.loginNeededBasis { fields.row("", StyledText(basis, .faint)) }
    }
    if !snapshot.durable {
      fields.row(
        "Store", StyledText("what is in memory could not be written to disk yet", .bad))
    }
  }

  /// `signed in as ada, since 2026-11-28 09:12`.
  static func sentence(_ snapshot: Snapshot, _ words: Words) -> String {
    switch snapshot.state {
    case .signedIn:
      "signed in" + account(snapshot)
        + (snapshot.signedInAt.map { ", since \(words.moment($0))" } ?? "")
    case .signedOut: "signed out" + (snapshot.reason.map { ": \($0)" } ?? "")
    case .suspended: "suspended" + (snapshot.reason.map { ": \($0)" } ?? "")
    case .unknown(let name): name
    }
  }

  private static func account(_ snapshot: Snapshot) -> String {
    guard let account = snapshot.account else { return "" }
    return " as \(account)" + (snapshot.accountVerified ? "" : " (as the import said)")
  }

  private func showState() {
    let tone: Tone =
      switch snapshot.state {
      case .signedIn: .good
      case .suspended: .bad
      default: .warning
      }
    fields.row("Session", StyledText(Self.sentence(snapshot, context.words), tone))
    if snapshot.state == .signedOut, !snapshot.durable {
      fields.row("Store", StyledText("what is on disk is not destroyed yet", .bad))
    }
  }

  private func showToken() {
    let words = context.words
    if snapshot.accessTokenFingerprint != nil || snapshot.accessTokenExpiresAt != nil {
      let until =
        snapshot.accessTokenExpiresAt.map { text in
          (words.secondsUntil(text) ?? 0) > 0
            ? "good until \(words.relative(text))" : "expired \(words.relative(text))"
        } ?? "good until it is rejected"
      fields.row("Token", StyledText(until.replacingPrefix("good until in ", with: "good for ")))
    }
    var refresh: [String] = []
    switch snapshot.activity {
    case .refreshing: refresh.append("under way")
    case .backingOff: refresh.append("held back after a failure")
    default: break
    }
    if let next = snapshot.nextRefreshAt { refresh.append("next \(words.relative(next))") }
    if let last = snapshot.lastRefreshAt { refresh.append("last \(words.relative(last))") }
    if snapshot.refreshTokenFingerprint == nil { refresh.append("no refresh token") }
    if !refresh.isEmpty {
      fields.row(
        "Refresh",
        StyledText(
          refresh.joined(separator: "; "), snapshot.activity == .backingOff ? .warning : .plain))
    }
  }
}

extension String {
  fileprivate func replacingPrefix(_ prefix: String, with other: String) -> String {
    hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
  }
}
