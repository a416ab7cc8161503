// All keys, in the order of the table in contract/command-line.md, which says what they do. A test
// holds this, config/brewlogd.conf and the parser together.

enum UpstreamKeys {
  private static let section = "Upstream"
  static let baseURL = Key<String?>.optional(section, "BaseURL", .baseURL)
  static let todayPath = Key(section, "TodayPath", "/tips/today", "/tips/today", .requestPath)
  static let itemPath = Key(section, "ItemPath", "/tips/{id}", "/tips/{id}", .itemPath)
  static let ratingPath = Key(
    section, "RatingPath", "/tips/{id}/rating", "/tips/{id}/rating", .itemPath)
  static let connectTimeout = Key(section, "ConnectTimeout", "10s", .seconds(10), .positiveSpan)
  static let requestTimeout = Key(section, "RequestTimeout", "30s", .seconds(30), .positiveSpan)
  static let maxBodyBytes = Key(
    section, "MaxBodyBytes", "1M", 1 << 20, .size(1024...1 << 30, "from 1K to 1G"))
  static let proxy = Key<String?>.optional(section, "Proxy", .proxy)
  static let caFile = Key<String?>.optional(section, "CAFile", .file)
  static let allowCleartext = Key(section, "AllowCleartext", "no", false, .boolean)
  static let idField = Key(section, "IDField", "/id", "/id", .pointer)
  static let titleField = Key(section, "TitleField", "/title", "/title", .pointer)
  static let bodyField = Key(section, "BodyField", "/body", "/body", .pointer)
  static let dateField = Key(section, "DateField", "/date", "/date", .pointer)
  static let tagsField = Key(section, "TagsField", "/tags", "/tags", .pointer)
  static let urlField = Key(section, "URLField", "/url", "/url", .pointer)

  static let all: [KeyDescription] = [
    .init(baseURL), .init(todayPath), .init(itemPath), .init(ratingPath), .init(connectTimeout),
    .init(requestTimeout), .init(maxBodyBytes), .init(proxy), .init(caFile),
    .init(allowCleartext), .init(idField), .init(titleField), .init(bodyField),
    .init(dateField), .init(tagsField), .init(urlField),
  ]
}

enum AuthKeys {
  private static let section = "Auth"
  static let dialect = Key<DaemonConfiguration.Dialect?>.optional(section, "Dialect", .choice)
  static let issuer = Key<String?>.optional(section, "Issuer", .issuer)
  static let tokenEndpoint = Key<String?>.optional(section, "TokenEndpoint", .endpoint)
  static let authorizationEndpoint = Key<String?>.optional(
    section, "AuthorizationEndpoint", .endpoint)
  static let deviceAuthorizationEndpoint = Key<String?>.optional(
    section, "DeviceAuthorizationEndpoint", .endpoint)
  static let revocationEndpoint = Key<String?>.optional(section, "RevocationEndpoint", .endpoint)
  static let clientID = Key<String?>.optional(section, "ClientID", .token)
  static let clientSecretFile = Key<String?>.optional(section, "ClientSecretFile", .file)
  static let clientAuthentication = Key<DaemonConfiguration.ClientAuthentication?>.optional(
    section, "ClientAuthentication", .choice)
  static let scope = Key<String?>.optional(section, "Scope", .words)
  static let resource = Key<String?>.optional(section, "Resource", .endpoint)
  static let redirectPort = Key(section, "RedirectPort", "0", 0, .number(0...65535))

  static let all: [KeyDescription] = [
    .init(dialect), .init(issuer), .init(tokenEndpoint), .init(authorizationEndpoint),
    .init(deviceAuthorizationEndpoint), .init(revocationEndpoint), .init(clientID),
    .init(clientSecretFile), .init(clientAuthentication), .init(scope), .init(resource),
    .init(redirectPort),
  ]
}

enum RefreshKeys {
  private static let section = "Refresh"
  static let margin = Key(section, "Margin", "60s", .seconds(60), .span)
  static let jitter = Key(section, "Jitter", "10%", 10, .percentage)
  static let deadline = Key(section, "Deadline", "20s", .seconds(20), .positiveSpan)

  static let all: [KeyDescription] = [.init(margin), .init(jitter), .init(deadline)]
}

enum RetryKeys {
  private static let section = "Retry"
  static let maxRetries = Key(section, "MaxRetries", "2", 2, .number(0...10))
  static let backoff = Key(section, "Backoff", "200ms", .milliseconds(200), .span)
  static let jitter = Key(section, "Jitter", "0%", 0, .percentage)

  static let all: [KeyDescription] = [.init(maxRetries), .init(backoff), .init(jitter)]
}

enum CacheKeys {
  private static let section = "Cache"
  static let freshFor = Key(section, "FreshFor", "15min", .seconds(900), .span)
  static let staleIfError = Key(section, "StaleIfError", "7d", .seconds(604_800), .span)
  static let keepTips = Key(section, "KeepTips", "1000", 1000, .number(0...1_000_000))
  static let dayZone = Key<String?>.optional(section, "DayZone", .zone)

  static let all: [KeyDescription] = [
    .init(freshFor), .init(staleIfError), .init(keepTips), .init(dayZone),
  ]
}

enum StoreKeys {
  private static let section = "Store"
  static let directory = Key(section, "Directory", "", "", .file)
  static let keyFile = Key(section, "KeyFile", "", "", .file)
  static let onMove = Key(section, "OnMove", "ask", DaemonConfiguration.OnMove.ask, .choice)

  static let all: [KeyDescription] = [.init(directory), .init(keyFile), .init(onMove)]
}

enum SocketKeys {
  private static let section = "Socket"
  static let path = Key(section, "Path", "", "", .socketPath)
  static let mode = Key(section, "Mode", "0660", UInt32(0o660), .mode)
  static let group = Key(section, "Group", "brewlog", "brewlog", Form<String>.accountName.optional)
  static let maxConnections = Key(
    section, "MaxConnections", "16384", 16384, .number(1...1_000_000))
  static let maxConnectionsPerUser = Key(
    section, "MaxConnectionsPerUser", "4096", 4096, .number(1...1_000_000))
  static let maxMessageBytes = Key(
    section, "MaxMessageBytes", "64K", 65536, .size(1024...1 << 26, "from 1K to 64M"))
  static let maxPendingCalls = Key(
    section, "MaxPendingCalls", "1024", 1024, .number(1...1_000_000))
  static let maxUnreadBytes = Key(
    section, "MaxUnreadBytes", "1M", 1 << 20, .size(4096...1 << 30, "from 4K to 1G"))
  static let idleTimeout = Key(section, "IdleTimeout", "0", .zero, .span)

  static let all: [KeyDescription] = [
    .init(path), .init(mode), .init(group), .init(maxConnections), .init(maxConnectionsPerUser),
    .init(maxMessageBytes), .init(maxPendingCalls), .init(maxUnreadBytes), .init(idleTimeout),
  ]
}

enum AccessKeys {
  private static let section = "Access"
  static let read = list("Read", "@brewlog", ["@brewlog"])
  static let control = list("Control", "root", ["root"])
  static let requestsPerMinute = Key(
    section, "RequestsPerMinute", "60", 60, .number(0...1_000_000))

  static let all: [KeyDescription] = [.init(read), .init(control), .init(requestsPerMinute)]

  private static func list(_ key: String, _ text: String, _ value: [String]) -> Key<[String]> {
    var result = Key(section, key, text, value, .access)
    result.isList = true
    return result
  }
}

enum LogKeys {
  static let level = Key("Log", "Level", "info", DaemonConfiguration.LogLevel.info, .choice)

  static let all: [KeyDescription] = [.init(level)]
}

/// The table as a whole, for what is looked up by name.
enum KeyTable {
  static let all: [KeyDescription] =
    UpstreamKeys.all + AuthKeys.all + RefreshKeys.all + RetryKeys.all + CacheKeys.all
    + StoreKeys.all + SocketKeys.all + AccessKeys.all + LogKeys.all

  static let byName: [KeyName: KeyDescription] = Dictionary(
    all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  /// In the table's order, each once.
  static let sections: [String] = all.map(\.name.section).reduce(into: []) { names, name in
    if names.last != name { names.append(name) }
  }
}
