import BrewlogAPI
import DemoUpstream
import JSON
import TestSupport
import Testing

/// The built daemon at its real socket, before a real upstream. One test at a time: each has several
/// processes. Each blocks its thread while it waits for them.
@Suite(.serialized, .ownThread, .timeLimit(.minutes(2)))
enum EndToEnd {}

/// A scripted upstream and a running daemon that uses it.
struct Stage {
  let upstream: DemoUpstream
  let daemon: DaemonFixture

  /// Sets both up, and takes both down whatever happens. `started: false` leaves the start to the
  /// test.
  static func run(
    _ options: DemoOptions = DemoOptions(), _ sections: [String: [String]] = [:],
    started: Bool = true, _ body: (Stage) async throws -> Void
  ) async throws {
    let upstream = try DemoUpstream(options)
    let daemon = try DaemonFixture(upstream: upstream.baseURL, sections)
    // In this order: a held request is cut off only once nobody is there to try it again.
    defer {
      daemon.end()
      upstream.close()
    }
    if started { try daemon.start() }
    try await body(Stage(upstream: upstream, daemon: daemon))
  }

  /// The account's first access token has expired; its refresh token is good.
  static var expired: DemoOptions {
    var options = DemoOptions()
    options.startsExpired = true
    return options
  }

  static let todayPath = "/tips/today"
  static let refreshPath = "/auth/refresh"

  /// Ids of some of the upstream's tips.
  static let tipIDs = [
    "bloom", "weigh-coffee-and-water", "grind-just-before", "rinse-the-filter", "store-beans",
    "moka-no-tamp", "cold-brew", "warm-cup",
  ]

  static func tipPath(_ id: String) -> String { "/tips/" + id }

  /// Brings the tokens that the upstream handed out last to the daemon.
  @discardableResult
  func signIn(expiresInSeconds: Int64? = nil) throws -> Snapshot {
    try signIn(with: upstream.tokens, expiresInSeconds: expiresInSeconds)
  }

  @discardableResult
  func signIn(with tokens: TokenPair, expiresInSeconds: Int64? = nil) throws -> Snapshot {
    var parameters: [String: JSONValue] = [
      "accessToken": .string(tokens.access), "refreshToken": .string(tokens.refresh),
      "account": "dummy@example.org",
    ]
    parameters["expiresInSeconds"] = expiresInSeconds.map { .integer($0) }
    return try daemon.call(.importCredentials, parameters, as: SessionReply.self).session
  }

  /// A client of the session, whose call waits for a refresh that the upstream holds as `refresh`.
  func holdingRefresh(
    _ step: Step = .hold("refresh"), behind method: APIMethod
  ) throws -> Connection {
    upstream.script(.post, Self.refreshPath, [step])
    try signIn()
    let client = try connect()
    try client.send(method)
    try #require(upstream.waitForHold("refresh"))
    return client
  }

  func connect() throws -> Connection { try Connection(daemon.socket) }

  /// One connection for each tip, on which it has been asked for.
  func ask(for ids: [String]) throws -> [Connection] {
    try ids.map { id in
      let connection = try connect()
      try connection.send(.get, ["id": .string(id)])
      return connection
    }
  }

  /// The refresh tokens that came to the upstream, by their labels, in their order.
  var refreshTokensSent: [String?] {
    upstream.log.filter { $0.path == Self.refreshPath }.map { $0.fields["refreshToken"] }
  }
}
