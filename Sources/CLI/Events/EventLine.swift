import BrewlogAPI

/// One event on one line.
enum EventLine {
  static func text(_ event: Event, _ context: CommandContext) -> StyledText {
    let appearance = context.appearance
    var facts: [String] = []
    if let status = event.httpStatus { facts.append("HTTP \(status)") }
    if let uid = event.actorUid { facts.append("by uid \(uid)") }
    let detail = [event.detail, facts.isEmpty ? nil : "(" + facts.joined(separator: ", ") + ")"]
      .compactMap { $0 }.joined(separator: " ")
    let (words, tone) = words(event.kind)
    return StyledText(context.words.second(event.at) + "  ", .faint)
      + StyledText(TextLayout.pad(appearance.line(words), to: 22), tone)
      + StyledText(" gen \(event.generation)", .faint)
      + StyledText(detail.isEmpty ? "" : "  " + appearance.line(detail))
  }

  private static func words(_ kind: EventKind) -> (String, Tone) {
    switch kind {
    case .signedIn: ("signed in", .good)
    case .imported: ("tokens imported", .good)
    case .refreshStarted: ("refresh started", .plain)
    case .refreshSucceeded: ("refreshed", .good)
    case .refreshFailed: ("refresh failed", .bad)
    case .lateResultRejected: ("late result rejected", .warning)
    case .signedOut: ("signed out", .warning)
    case .suspended: ("suspended", .bad)
    case .resumed: ("resumed", .good)
    case .loginPending: ("sign-in under way", .plain)
    case .loginFailed: ("sign-in failed", .bad)
    case .tipLoading: ("loading a tip", .plain)
    case .tipChanged: ("new tip", .accent)
    case .tipFailed: ("loading a tip failed", .warning)
    case .upstreamAway: ("upstream away", .warning)
    case .upstreamBack: ("upstream back", .good)
    case .storeDegraded: ("store takes no writes", .bad)
    case .storeHealed: ("store healed", .good)
    case .revocationDone: ("tokens revoked", .plain)
    case .revocationFailed: ("revocation failed", .warning)
    case .gap: ("(events missing)", .warning)
    case .stopping: ("the daemon stops", .warning)
    case .unknown(let name): (name, .plain)
    }
  }
}
