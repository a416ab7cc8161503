/// The worlds that are explored, by what meets in them.
package enum Worlds {
  package static let all: [World] = small + large + onSQLite + combinations

  private static let small: [World] = [
    World("two alike, token stale", [.init(.today), .init(.today)], mostRefreshes: 1)
      .with { $0.isStale = true },
    World("two different, token stale", [.init(.today), .init(.tip("1"))], mostRefreshes: 1)
      .with { $0.isStale = true },
    World(
      "three, token stale", [.init(.today), .init(.tip("1")), .init(.tip("2"))], mostRefreshes: 1
    ).with { $0.isStale = true },
    World("logout during a refresh", [.init(.refresh), .init(.logout)], mostRefreshes: 1),
    World(
      "logout during a refresh with two waiters",
      [.init(.refresh), .init(.today), .init(.logout)], mostRefreshes: 2
    ).with { $0.isStale = true },
    World(
      "logout, and an endpoint that is deaf", [.init(.refresh), .init(.logout), .init(.today)],
      mostRefreshes: 1
    ).with { $0.isDeaf = true },
    World(
      "another account during a refresh",
      [.init(.refresh), .init(.importAccount("B")), .init(.today)], mostRefreshes: 2
    ).with { $0.isStale = true },
    World(
      "another account, deaf endpoint, refresh of both",
      [.init(.refresh), .init(.importAccount("B")), .init(.refresh)], mostRefreshes: 2
    ).with { $0.isDeaf = true },
    World(
      "late failure of the last account",
      [.init(.refresh), .init(.importAccount("B")), .init(.refresh)], mostRefreshes: 2
    ).with {
      $0.isDeaf = true
      $0.exchanges = [.answered, .serverError, .requestLost]
    },
    World(
      "tips of two accounts", [.init(.today), .init(.importAccount("B")), .init(.today)],
      mostRefreshes: 0
    ),
    World(
      "tips before and after a logout", [.init(.today), .init(.logout), .init(.today)],
      mostRefreshes: 0
    ),
    World(
      "logout and another account",
      [.init(.logout), .init(.importAccount("B")), .init(.today)], mostRefreshes: 1
    ).with { $0.isStale = true },
    World(
      "two imports at once",
      [.init(.importAccount("B")), .init(.importAccount("A")), .init(.today)], mostRefreshes: 1
    ),
    World(
      "the token of a refresh under way signs in",
      [.init(.refresh), .init(.importAccount("A")), .init(.refresh)], mostRefreshes: 3),
    World(
      "the token of a refresh under way signs in, deaf endpoint",
      [.init(.refresh), .init(.importAccount("A")), .init(.refresh)], mostRefreshes: 3
    ).with {
      $0.isDeaf = true
      $0.exchanges = [.answered, .late, .serverError, .requestLost]
    },
    World(
      "the tokens of the present session sign in",
      [.init(.importAccount("A")), .init(.today), .init(.importAccount("A"))], mostRefreshes: 2
    ).with {
      $0.revokes = true
      $0.revocations = [.done, .unavailable]
    },
    World(
      "the tokens of a session that was logged out sign in",
      [.init(.logout), .init(.importAccount("A")), .init(.today)], mostRefreshes: 2
    ).with {
      $0.revokes = true
      $0.revocations = [.done, .unavailable]
    },
    World("two logouts", [.init(.logout), .init(.logout), .init(.today)], mostRefreshes: 0),
    World(
      "late success",
      [
        .init(.refresh, patience: .seconds(5)), .init(.logout, comesLate: true),
        .init(.refresh, comesLate: true),
      ], mostRefreshes: 2
    ).with { $0.exchanges = [.answered, .late] },
    World("refresh fails", [.init(.refresh), .init(.today)], mostRefreshes: 2).with {
      $0.isStale = true
      $0.exchanges = [.answered, .serverError]
    },
    World("answer lost", [.init(.refresh), .init(.refresh)], mostRefreshes: 2).with {
      $0.exchanges = [.answered, .requestLost, .answerLost]
    },
    World(
      "one waiter leaves",
      [.init(.refresh, leaves: true), .init(.refresh), .init(.today)], mostRefreshes: 3
    ).with { $0.isStale = true },
    World(
      "sharers leave", [.init(.today, leaves: true), .init(.today, leaves: true), .init(.today)],
      mostRefreshes: 1
    ).with { $0.isStale = true },
    World("the API fails now and then", [.init(.today), .init(.rate)], mostRefreshes: 1).with {
      $0.isStale = true
      $0.replies = [.answered, .serverError, .lost]
    },
    World(
      "renewal and logout", [.init(.today), .init(.logout, comesLate: true)]
    ).with {
      $0.lifetime = .seconds(40)
    },
    World(
      "renewal, request and another account",
      [.init(.today, comesLate: true), .init(.importAccount("B"), comesLate: true)]
    ).with {
      $0.lifetime = .seconds(40)
      $0.exchanges = [.answered, .serverError]
    },
    World(
      "stop during a refresh", [.init(.refresh), .init(.stop), .init(.today)], mostRefreshes: 2
    )
    .with { $0.isStale = true },
    World("stop during a logout", [.init(.logout), .init(.stop)], mostRefreshes: 0),
    World("disk full", [.init(.refresh), .init(.refresh)], mostRefreshes: 2).with {
      $0.storeFaults = 1
    },
    World(
      "disk full twice, renewal",
      [.init(.refresh), .init(.today, comesLate: true)]
    ).with {
      $0.storeFaults = 2
      $0.leastRefreshes = 3
      $0.lifetime = .seconds(40)
    },
    World("disk full at logout", [.init(.refresh), .init(.logout)], mostRefreshes: 1).with {
      $0.storeFaults = 2
    },
    World(
      "disk full, a second refresh later", [.init(.refresh), .init(.refresh, comesLate: true)],
      mostRefreshes: 2
    ).with {
      $0.storeFaults = 2
      $0.exchanges = [.answered, .late]
    },
    World(
      "refresh fails, and again", [.init(.refresh), .init(.refresh, comesLate: true)],
      mostRefreshes: 2
    )
    .with { $0.exchanges = [.answered, .serverError, .answerLost] },
    World(
      "refresh fails, three times",
      [.init(.refresh), .init(.refresh, comesLate: true), .init(.refresh, comesLate: true)],
      mostRefreshes: 3
    ).with { $0.exchanges = [.serverError] },
    World(
      "killed after failures", [.init(.refresh), .init(.refresh, comesLate: true)],
      mostRefreshes: 4
    ).with {
      $0.exchanges = [.serverError]
      $0.crashes = 1
      $0.afterCrash = [.init(.refresh, comesLate: true)]
    },
    World(
      "the API is slow",
      [.init(.today, patience: .seconds(5)), .init(.today), .init(.logout, comesLate: true)],
      mostRefreshes: 1
    ).with {
      $0.isStale = true
      $0.replies = [.answered, .slow]
    },
    World("the API fails, one caller", [.init(.today)], mostRefreshes: 1).with {
      $0.isStale = true
      $0.replies = [.answered, .serverError, .lost]
    },
    World(
      "the API rejects every token", [.init(.today), .init(.today)], mostRefreshes: 2
    ).with { $0.rejectsAll = true },
    World("killed during a refresh", [.init(.refresh)], mostRefreshes: 3).with {
      $0.crashes = 1
      $0.afterCrash = [.init(.today), .init(.refresh)]
    },
    World("killed during a logout", [.init(.refresh), .init(.logout)], mostRefreshes: 2).with {
      $0.crashes = 1
      $0.afterCrash = [.init(.today)]
    },
    World("killed during an import", [.init(.importAccount("B"))], mostRefreshes: 1).with {
      $0.crashes = 1
      $0.afterCrash = [.init(.refresh)]
    },
    World("killed twice", [.init(.refresh)], mostRefreshes: 4).with {
      $0.crashes = 2
      $0.exchanges = [.answered, .answerLost]
      $0.afterCrash = [.init(.refresh)]
    },
    World(
      "the server asks to wait, or names no reason",
      [.init(.refresh), .init(.refresh, comesLate: true), .init(.refresh, comesLate: true)],
      mostRefreshes: 3
    ).with { $0.exchanges = [.busy, .unclear, .answered] },
    World(
      "three refusals without a reason",
      [
        .init(.refresh), .init(.refresh, comesLate: true), .init(.refresh, comesLate: true),
        .init(.refresh, comesLate: true),
      ], mostRefreshes: 4
    ).with { $0.exchanges = [.unclear] },
    World(
      "the client is not known",
      [
        .init(.refresh), .init(.refresh, comesLate: true),
        .init(.importAccount("B"), comesLate: true),
      ],
      mostRefreshes: 3
    ).with { $0.exchanges = [.misconfigured, .answered] },
    World(
      "killed after the server asked to wait",
      [.init(.refresh), .init(.refresh, comesLate: true)], mostRefreshes: 4
    ).with {
      $0.exchanges = [.busy, .misconfigured]
      $0.crashes = 1
      $0.afterCrash = [.init(.refresh, comesLate: true)]
    },
    World("another upstream after a restart", [.init(.refresh)], mostRefreshes: 3).with {
      $0.crashes = 1
      $0.movesUpstream = true
      $0.afterCrash = [.init(.today), .init(.refresh), .init(.resume)]
    },
    World(
      "an access token alone", [.init(.today), .init(.tip("1")), .init(.refresh)], mostRefreshes: 0
    )
    .with { $0.hasRefreshToken = false },
    World("an access token alone, stale", [.init(.today), .init(.today)], mostRefreshes: 0).with {
      $0.hasRefreshToken = false
      $0.isStale = true
    },
    World("an access token alone, that expires", [.init(.today, comesLate: true)], mostRefreshes: 0)
      .with {
        $0.hasRefreshToken = false
        $0.lifetime = .seconds(2)
      },
    World("a refresh token alone", [.init(.today), .init(.tip("1"))], mostRefreshes: 1).with {
      $0.hasAccessToken = false
      $0.leastRefreshes = 1
    },
    World("a lifetime that has passed", [.init(.today), .init(.tip("1"))]).with {
      $0.lifetime = .seconds(30)
      $0.leastRefreshes = 2
    },
    World(
      "a logout for one generation",
      [.init(.logoutOfFirst), .init(.importAccount("B")), .init(.today)],
      mostRefreshes: 0),
    World(
      "two sign-ins for one generation",
      [.init(.importOverFirst("B")), .init(.importOverFirst("A")), .init(.logout)],
      mostRefreshes: 0),
    World("a sign-in with nothing", [.init(.importNothing), .init(.today)], mostRefreshes: 0),
    World(
      "an inspection during a refresh", [.init(.inspect), .init(.refresh), .init(.logout)],
      mostRefreshes: 1),
    World("two ratings", [.init(.rate), .init(.rate)], mostRefreshes: 1).with {
      $0.isStale = true
      $0.replies = [.answered, .lost]
    },
    World("one fault of the API is not noticed", [.init(.today), .init(.rate)], mostRefreshes: 1)
      .with {
        $0.isStale = true
        $0.replies = [.answered, .serverError, .lost]
        $0.apiFaults = 1
      },
    World(
      "the API asks to wait", [.init(.today), .init(.tip("1")), .init(.rate)], mostRefreshes: 1
    )
    .with {
      $0.isStale = true
      $0.replies = [.answered, .busy]
    },
    World("a scope that is too narrow", [.init(.today), .init(.tip("1"))], mostRefreshes: 0).with {
      $0.replies = [.outOfScope]
    },
    World("a copied store", [.init(.refresh)], mostRefreshes: 2).with {
      $0.crashes = 1
      $0.isCopied = true
      $0.afterCrash = [.init(.today), .init(.refresh), .init(.resume)]
    },
    World("a copied store, twice restarted", [.init(.today)], mostRefreshes: 2).with {
      $0.crashes = 2
      $0.isCopied = true
      $0.afterCrash = [.init(.resume), .init(.today)]
    },
    World("another upstream, twice restarted", [.init(.today)], mostRefreshes: 2).with {
      $0.crashes = 2
      $0.movesUpstream = true
      $0.afterCrash = [.init(.resume), .init(.today)]
    },
    World("a copied store that may go on", [.init(.today)], mostRefreshes: 2).with {
      $0.crashes = 1
      $0.isCopied = true
      $0.continuesOnMove = true
      $0.afterCrash = [.init(.today), .init(.refresh)]
    },
    World("a resume and a logout", [.init(.today)], mostRefreshes: 2).with {
      $0.crashes = 1
      $0.movesUpstream = true
      $0.afterCrash = [.init(.resume), .init(.resume), .init(.logout)]
    },
    World("tokens to revoke, and another upstream", [.init(.logout)], mostRefreshes: 1).with {
      $0.revokes = true
      $0.crashes = 1
      $0.movesUpstream = true
      $0.afterCrash = [.init(.today)]
    },
    World(
      "a stop while tokens wait to be revoked", [.init(.logout), .init(.stop)], mostRefreshes: 0
    ).with {
      $0.revokes = true
      $0.revocations = [.done, .unavailable]
    },
    World(
      "a stop, and a renewal that is due",
      [.init(.stop), .init(.refresh), .init(.importAccount("B"))]
    ).with { $0.lifetime = .seconds(40) },
    World("a stop while the disk is full", [.init(.refresh), .init(.stop)], mostRefreshes: 2).with {
      $0.storeFaults = 2
    },
    World(
      "each token is rejected at once, and brakes",
      (0..<8).map { .init(.tip("\($0)")) }, mostRefreshes: 5
    ).with {
      $0.rejectsAll = true
      $0.isLarge = true
    },
    World("killed with the disk full at logout", [.init(.logout), .init(.today)], mostRefreshes: 1)
      .with {
        $0.storeFaults = 2
        $0.crashes = 1
        $0.afterCrash = [.init(.today), .init(.logout)]
      },
    World(
      "killed while another account signs in", [.init(.today), .init(.importAccount("B"))],
      mostRefreshes: 0
    ).with {
      $0.crashes = 1
      $0.afterCrash = [.init(.today), .init(.importAccount("B"))]
    },
    World("a late pair may only be revoked", [.init(.refresh), .init(.logout)], mostRefreshes: 1)
      .with {
        $0.revokes = true
        $0.isDeaf = true
      },
    World(
      "a late pair of the last account is revoked",
      [.init(.refresh), .init(.importAccount("B")), .init(.today)], mostRefreshes: 1
    ).with {
      $0.revokes = true
      $0.isDeaf = true
    },
    World(
      "revocation fails at first, another account meanwhile",
      [.init(.logout), .init(.importAccount("B")), .init(.today)], mostRefreshes: 0
    ).with {
      $0.revokes = true
      $0.revocations = [.done, .unavailable]
    },
    World(
      "a logout that forgets, during a refresh", [.init(.refresh), .init(.forget)],
      mostRefreshes: 1
    ).with { $0.revokes = true },
    World(
      "a logout that forgets, deaf endpoint", [.init(.refresh), .init(.forget)], mostRefreshes: 1
    ).with {
      $0.revokes = true
      $0.isDeaf = true
    },
    World(
      "a logout that forgets, after one that did not",
      [.init(.refresh), .init(.logout), .init(.forget)], mostRefreshes: 1
    ).with { $0.revokes = true },
    World(
      "a logout that forgets what waits to be revoked", [.init(.logout), .init(.forget)],
      mostRefreshes: 0
    ).with {
      $0.revokes = true
      $0.revocations = [.unavailable]
    },
    World(
      "killed while tokens wait to be revoked", [.init(.logout)], mostRefreshes: 0
    ).with {
      $0.revokes = true
      $0.crashes = 1
      $0.afterCrash = [.init(.importAccount("B")), .init(.today)]
    },
  ]

  /// On the real store, which takes its time: in random orders only.
  private static let onSQLite: [World] = [
    World(
      "on SQLite: refreshes, tips, a logout and another account",
      [
        .init(.refresh), .init(.today), .init(.logout), .init(.importAccount("B")), .init(.today),
        .init(.refresh),
      ], mostRefreshes: 4
    ).with {
      $0.isStale = true
      $0.exchanges = [.answered, .serverError, .answerLost]
    },
    World(
      "on SQLite: killed at any time",
      [.init(.refresh), .init(.today), .init(.logout)], mostRefreshes: 6
    ).with {
      $0.crashes = 2
      $0.exchanges = [.answered, .serverError, .answerLost]
      $0.afterCrash = [.init(.today), .init(.importAccount("B")), .init(.refresh), .init(.logout)]
    },
    World(
      "on SQLite: permits of sessions that have ended",
      [
        .init(.intrude), .init(.logout), .init(.intrude), .init(.importAccount("B")),
        .init(.intrude), .init(.refresh),
      ], mostRefreshes: 2),
    World(
      "on SQLite: revocations", [.init(.refresh), .init(.logout), .init(.importAccount("B"))],
      mostRefreshes: 2
    ).with {
      $0.revokes = true
      $0.isDeaf = true
      $0.crashes = 1
      $0.revocations = [.done, .unavailable]
      $0.afterCrash = [.init(.forget), .init(.today)]
    },
  ].map { world in
    world.with {
      $0.isOnSQLite = true
      $0.isLarge = true
    }
  }

  /// Too large to exhaust: for random orders only.
  private static let large: [World] = [
    World(
      "everything at once",
      [
        .init(.today), .init(.today, leaves: true), .init(.tip("1")), .init(.rate),
        .init(.refresh), .init(.refresh, patience: .seconds(3)), .init(.logout),
        .init(.importAccount("B")), .init(.today), .init(.refresh),
      ], mostRefreshes: 14
    ).with {
      $0.isStale = true
      $0.exchanges = [.answered, .late, .serverError, .requestLost, .answerLost]
      $0.replies = [.answered, .answered, .serverError, .lost]
      $0.storeFaults = 1
      $0.crashes = 1
      $0.afterCrash = [.init(.today), .init(.refresh), .init(.logout), .init(.today)]
      $0.isLarge = true
    },
    World(
      "twenty callers", (0..<20).map { .init($0 % 2 == 0 ? .today : .refresh) },
      mostRefreshes: 20
    ).with {
      $0.isStale = true
      $0.isLarge = true
      $0.exchanges = [.answered, .serverError]
    },
  ]
}
