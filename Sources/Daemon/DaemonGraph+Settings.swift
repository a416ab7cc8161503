import Configuration
import Execution
import FoundationEssentials
import JSON
import Platform
import Requests
import Secrets
import Session
import Tips
import Upstream
import Varlink

/// From the configuration to what each part is given.
extension DaemonGraph {
  static func transport(_ configuration: DaemonConfiguration) -> TransportSettings {
    var settings = TransportSettings()
    settings.connectTimeout = configuration.upstream.connectTimeout
    settings.maxBodyBytes = configuration.upstream.maxBodyBytes
    settings.proxy = configuration.upstream.proxy
    settings.caFile = configuration.upstream.caFile
    settings.allowCleartext = configuration.upstream.allowCleartext
    settings.userAgent = "brewlogd/\(BrewlogDaemon.version)"
    return settings
  }

  /// Where tokens are refreshed, and how this installation can sign in.
  struct Authorization {
    var endpoint: any TokenEndpoint
    var means: LoginGrants.Means
  }

  static func authorization(
    _ configuration: DaemonConfiguration, _ transport: any Transport, _ loop: EventLoop,
    credentialsDirectory: String?
  ) throws(Fault) -> Authorization {
    let secret = try ClientSecret.load(
      configuration.auth, credentialsDirectory: credentialsDirectory)
    do throws(TransportError) {
      switch configuration.auth.dialect {
      case .simple: return try simple(configuration, transport, loop)
      case .oauth2: return try oauth2(configuration, transport, loop, secret: secret)
      }
    } catch {
      throw Fault(message: error.reason)
    }
  }

  private static func simple(
    _ configuration: DaemonConfiguration, _ transport: any Transport, _ loop: EventLoop
  ) throws(TransportError) -> Authorization {
    Authorization(
      endpoint: try SimpleTokenEndpoint(
        transport: transport, ground: loop, baseURL: configuration.upstream.baseURL,
        tokenEndpoint: configuration.auth.tokenEndpoint),
      means: LoginGrants.Means(
        grant: nil, discovery: nil, redirectPort: 0,
        missing: [
          "[Auth] Dialect=oauth2 (with Dialect=simple, sign in by `brewlogctl login --token-stdin`)"
        ]))
  }

  private static func oauth2(
    _ configuration: DaemonConfiguration, _ transport: any Transport, _ loop: EventLoop,
    secret: consuming Secret?
  ) throws(TransportError) -> Authorization {
    let auth = configuration.auth
    let client = client(auth, secret)
    let discovery = Discovery(
      transport: transport, ground: loop,
      configured: OAuthEndpoints(
        issuer: auth.issuer, token: auth.tokenEndpoint,
        authorization: auth.authorizationEndpoint,
        deviceAuthorization: auth.deviceAuthorizationEndpoint,
        revocation: auth.revocationEndpoint))
    var missing: [String] = []
    if auth.clientID == nil { missing.append("[Auth] ClientID=") }
    if auth.issuer == nil, auth.deviceAuthorizationEndpoint == nil,
      auth.authorizationEndpoint == nil
    {
      missing.append(
        "[Auth] Issuer=, DeviceAuthorizationEndpoint= or AuthorizationEndpoint=")
    }
    return Authorization(
      endpoint: try OAuth2TokenEndpoint(
        transport: transport, ground: loop, baseURL: configuration.upstream.baseURL,
        discovery: discovery, client: client, scope: auth.scope, resource: auth.resource),
      means: LoginGrants.Means(
        grant: TokenGrant(
          transport: transport, ground: loop, discovery: discovery, client: client,
          scope: auth.scope, resource: auth.resource),
        discovery: discovery, redirectPort: UInt16(clamping: auth.redirectPort),
        missing: missing))
  }

  private static func client(
    _ auth: DaemonConfiguration.Auth, _ secret: consuming Secret?
  ) -> OAuthClient {
    let way: OAuthClient.Authentication =
      switch auth.clientAuthentication {
      case .basic, nil: .basic
      case .post: .post
      case .some(.none): .none
      }
    return OAuthClient(id: auth.clientID ?? "", authentication: way, secret: secret)
  }

  static func retryPolicy(_ configuration: DaemonConfiguration) -> RetryPolicy {
    RetryPolicy(
      maxRetries: configuration.retry.maxRetries, backoff: configuration.retry.backoff,
      jitter: Double(configuration.retry.jitter) / 100)
  }

  static func policy(_ configuration: DaemonConfiguration) -> SessionPolicy {
    var policy = SessionPolicy()
    policy.deadline = configuration.refresh.deadline
    policy.margin = configuration.refresh.margin
    policy.jitter = Double(configuration.refresh.jitter) / 100
    policy.refreshesWithoutToken = configuration.auth.dialect == .simple
    policy.continuesOnMove = configuration.store.onMove == .continue
    // An issuer names its endpoint; where it turns out to have none, the outbox says so.
    policy.canRevoke =
      configuration.auth.dialect == .oauth2
      && (configuration.auth.revocationEndpoint != nil || configuration.auth.issuer != nil)
    policy.unclearRefusalsToEnd = configuration.auth.dialect == .simple ? 1 : 3
    return policy
  }

  static func freshness(_ configuration: DaemonConfiguration) -> Freshness {
    Freshness(
      defaultLifetime: configuration.cache.freshFor,
      staleIfError: configuration.cache.staleIfError,
      dayZone: configuration.cache.dayZone.flatMap { TimeZone(identifier: $0) } ?? .current)
  }

  static func paths(_ configuration: DaemonConfiguration) -> TipPaths {
    TipPaths(
      today: configuration.upstream.todayPath, item: configuration.upstream.itemPath,
      rating: configuration.upstream.ratingPath)
  }

  static func fields(_ configuration: DaemonConfiguration) throws(Fault) -> TipFields {
    func pointer(_ key: String, _ text: String) throws(Fault) -> JSONPointer {
      guard let pointer = JSONPointer(text) else {
        throw Fault(message: "[Upstream] \(key)=\(text) is not a JSON Pointer such as /id")
      }
      return pointer
    }
    let fields = configuration.upstream.fields
    return TipFields(
      id: try pointer("IDField", fields.id), title: try pointer("TitleField", fields.title),
      body: try pointer("BodyField", fields.body), date: try pointer("DateField", fields.date),
      tags: try pointer("TagsField", fields.tags), url: try pointer("URLField", fields.url))
  }

  static func limits(_ configuration: DaemonConfiguration) -> Limits {
    var limits = Limits()
    limits.maxConnections = configuration.socket.maxConnections
    limits.maxConnectionsPerUser = configuration.socket.maxConnectionsPerUser
    limits.maxMessageBytes = configuration.socket.maxMessageBytes
    limits.maxPendingCalls = configuration.socket.maxPendingCalls
    limits.maxUnreadBytes = configuration.socket.maxUnreadBytes
    limits.idleTimeout = configuration.socket.idleTimeout
    return limits
  }

  static func access(
    _ configuration: DaemonConfiguration, _ accounts: AccountNames, _ log: Log
  ) -> Access {
    let (read, readWarnings) = Access.members(
      of: configuration.access.read, key: "Read", accounts)
    let (control, controlWarnings) = Access.members(
      of: configuration.access.control, key: "Control", accounts)
    for warning in readWarnings + controlWarnings { log(.warning, warning) }
    return Access(read: read, control: control, ownUID: Accounts.ownUserID)
  }
}
