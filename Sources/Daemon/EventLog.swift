import Session

/// Words for the log.
enum EventLog {
  static func level(of event: SessionEvent) -> Log.Level {
    switch event.kind {
    case .refreshStarted: .debug
    case .refreshSucceeded, .lateResultRejected: .info
    case .signedIn, .imported, .signedOut, .resumed, .storeHealed, .revocationDone,
      .loginPending:
      .notice
    case .refreshFailed, .suspended, .loginFailed, .revocationFailed: .warning
    case .storeDegraded: .error
    }
  }

  static func fields(of event: SessionEvent) -> LogFields {
    let isEvidence =
      switch event.kind {
      case .signedIn, .imported, .signedOut, .suspended, .resumed: true
      default: false
      }
    return LogFields(
      event: event.kind.rawValue, generation: event.generation.number,
      upstreamStatus: event.httpStatus, actorUID: event.actorUID, isEvidence: isEvidence)
  }

  static func line(for event: SessionEvent) -> String {
    let number = event.generation.number
    let actor = event.actorUID.map { " by uid \($0)" } ?? ""
    let detail = event.detail.map { ": \($0)" } ?? ""
    let status = event.httpStatus.map { " (HTTP \($0))" } ?? ""
    let text =
      switch event.kind {
      case .signedIn: "signed in\(actor), generation \(number)"
      case .imported: "credentials imported\(actor), generation \(number)"
      case .refreshStarted: "refresh started, generation \(number)"
      case .refreshSucceeded: "refreshed, generation \(number)"
      case .refreshFailed: "the refresh failed\(status), generation \(number)"
      case .lateResultRejected: "a late result of generation \(number) was rejected"
      case .signedOut: "signed out\(actor)\(status), now generation \(number)"
      case .loginPending: "a sign-in waits for a person\(actor)"
      case .loginFailed: "the sign-in brought nothing"
      case .revocationDone: "the tokens of an ended session are revoked"
      case .revocationFailed: "the tokens of an ended session could not be revoked"
      case .suspended: "the session is suspended, generation \(number)"
      case .resumed: "the session goes on\(actor), generation \(number)"
      case .storeDegraded: "the store does not take the newest state, generation \(number)"
      case .storeHealed: "the store has the newest state again, generation \(number)"
      }
    return text + detail
  }
}
