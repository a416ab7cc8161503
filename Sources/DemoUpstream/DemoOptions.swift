/// How a demo upstream behaves where no script says otherwise.
package struct DemoOptions: Sendable {
  package enum Rotation: Sendable {
    /// Every refresh spends the token that was sent and answers with another.
    case everyRefresh
    /// The refresh token stays; the answer has none.
    case never
  }

  package enum Reuse: Sendable {
    /// A spent refresh token is refused.
    case refused
    /// A spent refresh token is taken for stolen: everything the account holds is revoked.
    case endsSession
  }

  /// Who may refresh with an empty body, which only the dialect `simple` knows.
  package enum BareRefresh: Sendable {
    case nobody
    /// Whoever sends an access token that was issued here, expired or not.
    case byAccessToken
    case anybody
  }

  /// A client of `/token` that must prove itself, by `Authorization: Basic` or in the form.
  package struct Client: Sendable {
    package var id: String
    package var secret: String

    package init(id: String, secret: String) {
      self.id = id
      self.secret = secret
    }
  }

  /// 0: any free one.
  package var port: UInt16 = 0
  /// Nil: access tokens do not expire, and the answers do not say `expires_in`.
  package var accessLifetime: Duration? = .seconds(3600)
  /// Whether "dummy-access-0" is expired from the start.
  package var startsExpired = false
  package var rotation = Rotation.everyRefresh
  package var reuse = Reuse.refused
  package var bareRefresh = BareRefresh.byAccessToken
  /// Nil: any client, or none.
  package var client: Client?
  /// How long a device code lasts, and how often a client may ask for it.
  package var deviceLifetime: Duration = .seconds(600)
  package var deviceInterval: Duration = .seconds(5)
  /// Whether an early poll is answered `slow_down`, which adds five seconds to the interval.
  package var slowsDown = true
  /// The person at `/authorize` says no.
  package var deniesBrowsers = false
  /// Nil: the tips say nothing about how long they are fresh.
  package var cacheControl: String?
  /// The date of the tip of the day, `YYYY-MM-DD`. Nil: the host's.
  package var today: String?
  /// Each line of the access log, once the answer's status is known. Called on the server's
  /// thread, one line at a time.
  package var onLine: (@Sendable (String) -> Void)?

  package init() {}
}
