/// The numbers that the refreshes of a session go by.
package struct SessionPolicy: Sendable {
  /// Waiters of a refresh are answered by then; the exchange itself has twice as long.
  package var deadline: Duration = .seconds(20)
  /// How long before its expiry a token is refreshed unasked; never more than half its lifetime.
  package var margin: Duration = .seconds(60)
  /// By how much the margin and the backoff are spread, as a share of one.
  package var jitter: Double = 0.1
  /// Whether the upstream refreshes without a refresh token (dialect `simple`). Where it does not,
  /// a session with an access token alone ends at its first rejection or its expiry.
  package var refreshesWithoutToken = false
  /// Whether a session goes on by itself when the machine's id has changed (`OnMove=continue`).
  package var continuesOnMove = false
  /// Whether the upstream takes revocations.
  package var canRevoke = false
  /// How many refusals in a row that name no known reason end the session.
  package var unclearRefusalsToEnd = 3
  /// How long a logout waits for the store; after that it is said not to be durable yet.
  package var logoutPatience: Duration = .seconds(5)

  /// The first pause after a failed refresh; doubled for each further one in a row.
  package var firstBackoff: Duration = .seconds(1)
  package var longestBackoff: Duration = .seconds(300)
  /// A stored pause whose length was not recorded is not believed beyond this: the clock may have
  /// been stepped.
  package var longestStoredBackoff: Duration = .seconds(3600)
  /// The least time between two refreshes that nobody asked for: a lifetime of a second must not
  /// make the timer spin.
  package var proactiveFloor: Duration = .seconds(30)

  /// The brake on refresh loops: after so many refreshes within the window, each for a token
  /// younger than the window, refreshes pause.
  package var brakeCount = 5
  package var brakeWindow: Duration = .seconds(30)
  package var firstBrakePause: Duration = .seconds(30)
  package var longestBrakePause: Duration = .seconds(300)

  package init() {}
}
