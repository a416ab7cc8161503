/// One small world: who calls what, what the upstream and the disk may do, and what it may cost.
package struct World: Sendable, CustomStringConvertible {
  /// What one client does, once; when it arrives is the script's choice.
  package enum Call: Equatable, Sendable {
    case today
    case tip(String)
    case rate
    case refresh
    case logout
    /// A logout that asks for no revocation.
    case forget
    case importAccount(String)
    /// The same, for the generation that the world begins with and no other.
    case logoutOfFirst
    case importOverFirst(String)
    case importNothing
    case resume
    case inspect
    /// Somebody with permits of sessions that have ended; on SQLite only.
    case intrude
    case stop
  }

  package struct Client: Sendable {
    package var call: Call
    /// How long it waits.
    package var patience: Duration = .seconds(30)
    /// It may leave at any moment.
    package var leaves = false
    /// It may come only after some time has passed, or never.
    package var comesLate = false

    package init(
      _ call: Call, patience: Duration = .seconds(30), leaves: Bool = false,
      comesLate: Bool = false
    ) {
      self.call = call
      self.patience = patience
      self.leaves = leaves
      self.comesLate = comesLate
    }
  }

  /// What may become of a refresh that was sent.
  package enum Exchange: String, Sendable {
    /// The server's own answer: a new pair, or `invalid_grant` for a token that it does not know.
    case answered
    /// The same, after the callers' deadline has passed.
    case late
    case serverError
    /// The server asks to come again in ten seconds.
    case busy
    /// A refusal that names no known reason: the third in a row ends the session.
    case unclear
    /// The client is not known there: nothing is tried again until a restart.
    case misconfigured
    /// The request was lost, or its answer: nobody here can tell.
    case requestLost
    case answerLost
  }

  /// What may become of a request for a tip.
  package enum Reply: String, Sendable {
    /// A tip, or 401 for a token that the server does not accept.
    case answered
    case serverError
    case lost
    /// As `answered`, ten seconds later.
    case slow
    /// A 503 that names a second to wait.
    case busy
    /// A 401 that no refresh mends.
    case outOfScope
  }

  /// What may become of a revocation.
  package enum Revocation: String, Sendable {
    case done, unavailable
  }

  package var name: String
  /// Too large to exhaust: it is explored in random orders only.
  package var isLarge = false
  package var clients: [Client]
  /// Whether the first access token is rejected by the server.
  package var isStale = false
  /// What the session begins with.
  package var hasAccessToken = true
  package var hasRefreshToken = true
  /// How many of the API's replies are other than the first of `replies`; nil: any.
  package var apiFaults: Int?
  /// Whether the API rejects every token, fresh ones too.
  package var rejectsAll = false
  package var lifetime: Duration? = nil
  package var exchanges: [Exchange] = [.answered]
  package var replies: [Reply] = [.answered]
  /// The upstream takes revocations, and what may become of one.
  package var revokes = false
  package var revocations: [Revocation] = [.done]
  /// An exchange goes on though it was cancelled.
  package var isDeaf = false
  /// The real store stands beside the one in memory, on SQLite; they must agree. A kill comes between
  /// its calls, not within one.
  package var isOnSQLite = false
  /// How many of the store's writes may fail.
  package var storeFaults = 0
  /// How often the process may be killed, at any moment.
  package var crashes = 0
  package var afterCrash: [Client] = []
  /// A restart finds that the store was copied from another machine; `OnMove=continue` or not.
  package var isCopied = false
  package var continuesOnMove = false
  /// A restart finds another upstream configured.
  package var movesUpstream = false
  /// The most refreshes that may be sent, where its callers alone cause them. Where time does, too,
  /// each must have a cause of its own, and that is all (`RefreshCauses`).
  package var mostRefreshes: Int?
  /// The fewest, in a run that is not killed.
  package var leastRefreshes = 0

  package init(_ name: String, _ clients: [Client], mostRefreshes: Int? = nil) {
    self.name = name
    self.clients = clients
    self.mostRefreshes = mostRefreshes
  }

  package var description: String { name }

  /// Nothing takes long in it, so nobody may be told so.
  var isPrompt: Bool { !exchanges.contains(.late) && !replies.contains(.slow) }

  /// Nothing fails in it, so nobody may be told of a failure.
  var isKind: Bool {
    exchanges == [.answered] && (replies == [.answered] || apiFaults == 1) && !rejectsAll
      && storeFaults == 0 && crashes == 0 && hasRefreshToken
      && !clients.contains { $0.call == .stop || $0.call == .importAccount("A") }
  }

  /// The clients whose call may cost a refresh.
  package var callersOfRefreshes: Int {
    clients.count { client in
      switch client.call {
      case .today, .tip, .rate, .refresh: true
      default: false
      }
    }
  }

  /// Whatever the server answers is stored, whoever signs in.
  var losesNoAnswer: Bool {
    crashes == 0 && storeFaults == 0
      && clients.allSatisfy { client in
        switch client.call {
        case .logout, .forget, .logoutOfFirst, .importOverFirst, .stop: false
        case .importAccount(let account): account == "A"
        default: true
        }
      }
  }

  package func with(_ change: (inout World) -> Void) -> World {
    var world = self
    change(&world)
    return world
  }
}
