extension DaemonConfiguration {
  /// Reads, checks and completes a configuration. All that is wrong is reported at once.
  package static func load(
    from source: ConfigurationSource, files: ConfigurationFiles = .system
  ) throws(ConfigurationError) -> DaemonConfiguration {
    var loader = ConfigurationLoader(source: source, files: files)
    let (texts, unread) = loader.texts()
    var reader = SettingReader(texts)
    var assembly = ConfigurationAssembly(source: source)
    let configuration = assembly.assemble(&reader)
    // What a file that cannot be read does not say is unknown, and not missing.
    let whole = unread.isEmpty ? assembly.problems : assembly.problems.filter { $0.line != nil }
    let problems = unread + reader.problems + whole
    guard problems.isEmpty, let configuration else { throw ConfigurationError(problems: problems) }
    return configuration
  }
}

/// Puts the sections together and looks at what no single key can tell.
private struct ConfigurationAssembly {
  let source: ConfigurationSource
  private(set) var problems: [ConfigurationError.Problem] = []

  init(source: ConfigurationSource) {
    self.source = source
  }

  /// Nil only where a problem has been reported.
  mutating func assemble(_ reader: inout SettingReader) -> DaemonConfiguration? {
    // One by one, in the table's order: that is the order of the settings.
    let upstream = upstream(&reader)
    let auth = auth(&reader)
    let refresh = DaemonConfiguration.Refresh(
      margin: reader.value(RefreshKeys.margin), jitter: reader.value(RefreshKeys.jitter),
      deadline: reader.value(RefreshKeys.deadline))
    let retry = DaemonConfiguration.Retry(
      maxRetries: reader.value(RetryKeys.maxRetries), backoff: reader.value(RetryKeys.backoff),
      jitter: reader.value(RetryKeys.jitter))
    let cache = DaemonConfiguration.Cache(
      freshFor: reader.value(CacheKeys.freshFor),
      staleIfError: reader.value(CacheKeys.staleIfError),
      keepTips: reader.value(CacheKeys.keepTips), dayZone: reader.value(CacheKeys.dayZone))
    let store = store(&reader)
    let socket = socket(&reader)
    let access = access(&reader)
    let log = DaemonConfiguration.Log(level: reader.value(LogKeys.level))
    guard let upstream else { return nil }
    return DaemonConfiguration(
      upstream: upstream, auth: auth, refresh: refresh, retry: retry, cache: cache, store: store,
      socket: socket, access: access, log: log, settings: reader.settings)
  }

  private mutating func upstream(_ reader: inout SettingReader) -> DaemonConfiguration.Upstream? {
    let baseURL = reader.value(UpstreamKeys.baseURL)
    let todayPath = reader.value(UpstreamKeys.todayPath)
    let itemPath = reader.value(UpstreamKeys.itemPath)
    let ratingPath = reader.value(UpstreamKeys.ratingPath)
    let connectTimeout = reader.value(UpstreamKeys.connectTimeout)
    let requestTimeout = reader.value(UpstreamKeys.requestTimeout)
    let maxBodyBytes = reader.value(UpstreamKeys.maxBodyBytes)
    let proxy = reader.value(UpstreamKeys.proxy)
    let caFile = reader.value(UpstreamKeys.caFile)
    let allowCleartext = reader.value(UpstreamKeys.allowCleartext)
    let fields = DaemonConfiguration.Fields(
      id: reader.value(UpstreamKeys.idField), title: reader.value(UpstreamKeys.titleField),
      body: reader.value(UpstreamKeys.bodyField), date: reader.value(UpstreamKeys.dateField),
      tags: reader.value(UpstreamKeys.tagsField), url: reader.value(UpstreamKeys.urlField))
    guard let baseURL else {
      // Where it was set, what is wrong with it has been said.
      if !reader.isSet(UpstreamKeys.baseURL.name) {
        problems.append(
          .init(
            file: mainFile, line: nil, key: "BaseURL",
            message: "it is needed: the upstream's address in [Upstream], "
              + "such as BaseURL=https://api.example.com"))
      }
      return nil
    }
    return DaemonConfiguration.Upstream(
      baseURL: baseURL, todayPath: todayPath, itemPath: itemPath, ratingPath: ratingPath,
      connectTimeout: connectTimeout, requestTimeout: requestTimeout, maxBodyBytes: maxBodyBytes,
      proxy: proxy, caFile: caFile, allowCleartext: allowCleartext, fields: fields)
  }

  private mutating func auth(_ reader: inout SettingReader) -> DaemonConfiguration.Auth {
    let stated = reader.value(AuthKeys.dialect)
    var auth = DaemonConfiguration.Auth(
      dialect: .simple, issuer: reader.value(AuthKeys.issuer),
      tokenEndpoint: reader.value(AuthKeys.tokenEndpoint),
      authorizationEndpoint: reader.value(AuthKeys.authorizationEndpoint),
      deviceAuthorizationEndpoint: reader.value(AuthKeys.deviceAuthorizationEndpoint),
      revocationEndpoint: reader.value(AuthKeys.revocationEndpoint),
      clientID: reader.value(AuthKeys.clientID),
      clientSecretFile: reader.value(AuthKeys.clientSecretFile),
      clientAuthentication: reader.value(AuthKeys.clientAuthentication),
      scope: reader.value(AuthKeys.scope), resource: reader.value(AuthKeys.resource),
      redirectPort: reader.value(AuthKeys.redirectPort))
    let isOAuth = auth.issuer != nil || auth.tokenEndpoint != nil
    auth.dialect = stated ?? (isOAuth ? .oauth2 : .simple)
    if stated == nil { reader.show(AuthKeys.dialect.name, auth.dialect.rawValue) }
    let endpointKeys = [AuthKeys.issuer.name, AuthKeys.tokenEndpoint.name]
    if auth.dialect == .oauth2, !isOAuth, !endpointKeys.contains(where: reader.isSet) {
      report(reader, AuthKeys.dialect.name, "oauth2 needs Issuer= or TokenEndpoint=")
    }
    if auth.clientAuthentication == .basic || auth.clientAuthentication == .post,
      auth.clientID == nil, !reader.isSet(AuthKeys.clientID.name)
    {
      report(reader, AuthKeys.clientAuthentication.name, "basic and post need ClientID=")
    }
    return auth
  }

  private mutating func store(_ reader: inout SettingReader) -> DaemonConfiguration.Store {
    let place = source.stateDirectory ?? ""
    let directory = reader.value(StoreKeys.directory, default: place, place)
    if directory.isEmpty {
      report(reader, StoreKeys.directory.name, "neither XDG_STATE_HOME nor HOME says where; set it")
    }
    let key = directory + "/master.key"
    return DaemonConfiguration.Store(
      directory: directory, keyFile: reader.value(StoreKeys.keyFile, default: key, key),
      onMove: reader.value(StoreKeys.onMove))
  }

  private mutating func socket(_ reader: inout SettingReader) -> DaemonConfiguration.Socket {
    let place = source.runtimeDirectory.map { $0 + "/brewlog.sock" } ?? ""
    let path = reader.value(SocketKeys.path, default: place, place)
    if path.isEmpty {
      report(reader, SocketKeys.path.name, "XDG_RUNTIME_DIR does not say where; set it")
    } else if path.utf8.count > 107 {
      report(reader, SocketKeys.path.name, "the default path is longer than 107 bytes; set it")
    }
    let isUser = source.scope != .system
    return DaemonConfiguration.Socket(
      path: path,
      mode: isUser
        ? reader.value(SocketKeys.mode, default: 0o600, "0600") : reader.value(SocketKeys.mode),
      group: isUser
        ? reader.value(SocketKeys.group, default: nil, "") : reader.value(SocketKeys.group),
      maxConnections: reader.value(SocketKeys.maxConnections),
      maxConnectionsPerUser: reader.value(SocketKeys.maxConnectionsPerUser),
      maxMessageBytes: reader.value(SocketKeys.maxMessageBytes),
      maxPendingCalls: reader.value(SocketKeys.maxPendingCalls),
      maxUnreadBytes: reader.value(SocketKeys.maxUnreadBytes),
      idleTimeout: reader.value(SocketKeys.idleTimeout))
  }

  private func access(_ reader: inout SettingReader) -> DaemonConfiguration.Access {
    var read = AccessKeys.read.fallback
    var control = AccessKeys.control.fallback
    if case .user(let number) = source.scope {
      read = []
      control = [String(number)]
    }
    return DaemonConfiguration.Access(
      read: reader.list(AccessKeys.read, default: read, read.joined(separator: " ")),
      control: reader.list(AccessKeys.control, default: control, control.joined(separator: " ")),
      requestsPerMinute: reader.value(AccessKeys.requestsPerMinute))
  }

  private mutating func report(_ reader: SettingReader, _ name: KeyName, _ message: String) {
    problems.append(.init(at: reader.origin(name), key: name.key, message))
  }

  /// The file that one would write a missing key into.
  private var mainFile: String? {
    source.file
      ?? source.configurationDirectories.first.map { "\($0)/\(source.fileNames.last ?? "")" }
  }
}
