/// What happened. The list grows; clients accept kinds that they do not know.
package enum EventKind: OpenName {
  case signedIn, imported, refreshStarted, refreshSucceeded, refreshFailed, lateResultRejected,
    signedOut, suspended, resumed, loginPending, loginFailed, tipLoading, tipChanged, tipFailed,
    upstreamAway, upstreamBack, storeDegraded, storeHealed, revocationDone, revocationFailed, gap,
    stopping
  case unknown(String)

  package static let known: [EventKind] = [
    .signedIn, .imported, .refreshStarted, .refreshSucceeded, .refreshFailed, .lateResultRejected,
    .signedOut, .suspended, .resumed, .loginPending, .loginFailed, .tipLoading, .tipChanged,
    .tipFailed, .upstreamAway, .upstreamBack, .storeDegraded, .storeHealed, .revocationDone,
    .revocationFailed, .gap, .stopping,
  ]

  package var name: String {
    switch self {
    case .signedIn: "signedIn"
    case .imported: "imported"
    case .refreshStarted: "refreshStarted"
    case .refreshSucceeded: "refreshSucceeded"
    case .refreshFailed: "refreshFailed"
    case .lateResultRejected: "lateResultRejected"
    case .signedOut: "signedOut"
    case .suspended: "suspended"
    case .resumed: "resumed"
    case .loginPending: "loginPending"
    case .loginFailed: "loginFailed"
    case .tipLoading: "tipLoading"
    case .tipChanged: "tipChanged"
    case .tipFailed: "tipFailed"
    case .upstreamAway: "upstreamAway"
    case .upstreamBack: "upstreamBack"
    case .storeDegraded: "storeDegraded"
    case .storeHealed: "storeHealed"
    case .revocationDone: "revocationDone"
    case .revocationFailed: "revocationFailed"
    case .gap: "gap"
    case .stopping: "stopping"
    case .unknown(let name): name
    }
  }
}

/// One line of the history; it holds no secrets.
package struct Event: Codable, Hashable, Sendable {
  /// Goes on over restarts.
  package var sequence: Int
  package var at: String
  package var kind: EventKind
  package var generation: Int
  package var detail: String?
  /// The uid of the caller who caused it.
  package var actorUid: Int?
  package var httpStatus: Int?

  package init(
    sequence: Int, at: String, kind: EventKind, generation: Int, detail: String? = nil,
    actorUid: Int? = nil, httpStatus: Int? = nil
  ) {
    self.sequence = sequence
    self.at = at
    self.kind = kind
    self.generation = generation
    self.detail = detail
    self.actorUid = actorUid
    self.httpStatus = httpStatus
  }
}
