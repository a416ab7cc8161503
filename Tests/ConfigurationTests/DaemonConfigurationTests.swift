import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1)))
struct DaemonConfigurationTests {
  @Test func `a base URL is all that is needed`() throws {
    let configuration = try load("")
    #expect(configuration.upstream.baseURL == "http://127.0.0.1:1")
    #expect(configuration.auth.dialect == .simple)
    #expect(configuration.refresh.margin == .seconds(60))
    #expect(configuration.retry.maxRetries == 2)
    #expect(configuration.cache.staleIfError == .seconds(7 * 86_400))
    #expect(configuration.store.directory == "/var/lib/brewlog")
    #expect(configuration.store.keyFile == "/var/lib/brewlog/master.key")
    #expect(configuration.socket.path == "/run/brewlog/brewlog.sock")
    #expect(configuration.socket.mode == 0o660)
    #expect(configuration.socket.group == "brewlog")
    #expect(configuration.access.read == ["@brewlog"])
    #expect(configuration.access.control == ["root"])
    #expect(configuration.settings.count == KeyTable.all.count)
    #expect(
      configuration.settings.map { KeyName(section: $0.section, key: $0.key) }
        == KeyTable.all.map(\.name))
  }

  @Test(arguments: KeyTable.all.map(\.name))
  func `every default's text is its value`(name: KeyName) throws {
    let description = try #require(KeyTable.byName[name])
    guard !description.fallbackText.isEmpty else { return }
    var stated = try load("[\(name.section)]\n\(name.key)=\(description.fallbackText)\n")
    var silent = try load("")
    #expect(
      stated.settings.first { $0.section == name.section && $0.key == name.key }?.origin
        == "\(mainFile):4")
    stated.settings = []
    silent.settings = []
    #expect(stated == silent)
  }

  @Test func `values are taken over and their origin is kept`() throws {
    let configuration = try load(
      """
      RequestTimeout=1min 5s
      Proxy=http://ada:dummy-password@proxy.example:3128
      [Refresh]
      Jitter=25%
      [Socket]
      Mode=600
      MaxMessageBytes=128K
      [Log]
      Level=debug
      """)
    #expect(configuration.upstream.requestTimeout == .seconds(65))
    #expect(configuration.upstream.proxy?.contains("dummy-password") == true)
    #expect(configuration.refresh.jitter == 25)
    #expect(configuration.socket.mode == 0o600)
    #expect(configuration.socket.maxMessageBytes == 131_072)
    #expect(configuration.log.level == .debug)
    #expect(
      configuration.settings.first { $0.key == "RequestTimeout" }
        == EffectiveSetting(
          section: "Upstream", key: "RequestTimeout", value: "1min 5s", origin: "\(mainFile):3"))
    #expect(!"\(configuration.settings)".contains("dummy-password"))
  }

  @Test(arguments: [
    ("BaseURl=x", "3: BaseURl=: there is no such key in [Upstream]; the nearest is BaseURL="),
    ("[Refresh]\nMargn=1s", "4: Margn=: there is no such key in [Refresh]; the nearest is Margin="),
    (
      "[Cache]\nMargin=1s", "4: Margin=: there is no such key in [Cache]; it belongs to [Refresh]"
    ),
    ("[Upsteam]\nX=1", "3: there is no section \"[Upsteam]\"; the nearest is [Upstream]"),
    (
      "[Refresh]\nMargin=soon",
      "4: Margin=: \"soon\" is not a time span such as 500ms, 60s or 1h 30min"
    ),
    (
      "RequestTimeout=0",
      "3: RequestTimeout=: \"0\" is not a time span above zero, such as 500ms, 60s or 1h 30min"
    ),
    ("[Retry]\nMaxRetries=11", "4: MaxRetries=: \"11\" is not a whole number from 0 to 10"),
    ("[Retry]\nJitter=10", "4: Jitter=: \"10\" is not a percentage from 0% to 100%"),
    ("[Socket]\nMode=0999", "4: Mode=: \"0999\" is not a file mode in octal such as 0660"),
    ("[Socket]\nPath=run/x", "4: Path=: \"run/x\" is not an absolute path of at most 107 bytes"),
    ("[Store]\nOnMove=no", "4: OnMove=: \"no\" is not ask or continue"),
    ("AllowCleartext=perhaps", "3: AllowCleartext=: \"perhaps\" is not yes or no"),
    (
      "ItemPath=/tips",
      "3: ItemPath=: \"/tips\" is not a path with {id} in it once, such as /tips/{id}"
    ),
    ("IDField=id", "3: IDField=: \"id\" is not a JSON pointer (RFC 6901) such as /data/id"),
    (
      "MaxBodyBytes=1",
      "3: MaxBodyBytes=: \"1\" is not a size such as 4096, 64K or 1M, from 1K to 1G"
    ),
    ("[Auth]\nDialect=oauth2", "4: Dialect=: oauth2 needs Issuer= or TokenEndpoint="),
    (
      "[Auth]\nClientAuthentication=post", "4: ClientAuthentication=: basic and post need ClientID="
    ),
    (
      "[Access]\nRead=ada @",
      "4: Read=: \"ada @\" is not a list of users and @groups such as \"ada @brewlog\""
    ),
    (
      "Proxy=ada:dummy-password@proxy",
      "3: Proxy=: \"proxy\" is not a proxy such as http://proxy.example:3128 or socks5h://127.0.0.1:1080"
    ),
  ])
  func `a mistake is named with line, key and what would do`(text: String, problem: String) {
    #expect(problems(text) == [problem])
  }

  @Test func `all mistakes are reported at once, in their order`() {
    let found = problems("[Cache]\nKeepTips=many\n[Nope]\nX=1\n[Log]\nLevel=loud\n")
    #expect(found.map { $0.prefix(2) } == ["4:", "5:", "8:"])
  }

  @Test func `a mistake counts even where a later line overrides it`() {
    #expect(problems("[Cache]\nKeepTips=many\nKeepTips=5").count == 1)
  }

  @Test(arguments: [
    "ftp://x", "http://", "https://user:dummy@x", "https://x/#y", "https://x?y", "x", "http://x:0",
    "http://x:99999", "http://[::1", "http://x y", "https://x/\"",
  ])
  func `a base URL is http or https with a host`(url: String) {
    let table = FileTable(files: [mainFile: "[Upstream]\nBaseURL=\(url)\n"])
    #expect(throws: ConfigurationError.self) { try load(table) }
  }

  @Test(arguments: [
    ("https://x/", "https://x"), ("http://[::1]:8080/a//", "http://[::1]:8080/a"),
    ("HTTPS://example.com", "HTTPS://example.com"),
  ])
  func `a base URL loses its last slash`(url: String, kept: String) throws {
    let table = FileTable(files: [mainFile: "[Upstream]\nBaseURL=\(url)\n"])
    #expect(try load(table).upstream.baseURL == kept)
  }

  @Test func `without a base URL it is said where to write one`() {
    let error = #expect(throws: ConfigurationError.self) { try load(FileTable()) }
    #expect(error?.description.hasPrefix("\(mainFile): BaseURL=: it is needed") == true)
    #expect(error?.problems.count == 1)
  }

  @Test func `an empty assignment resets, and empties a list`() throws {
    let configuration = try load(
      "[Cache]\nKeepTips=5\nKeepTips=\n[Access]\nRead=\nControl=ada\nControl=\nControl=@wheel bob")
    #expect(configuration.cache.keepTips == 1000)
    #expect(configuration.settings.first { $0.key == "KeepTips" }?.origin == "default")
    #expect(configuration.access.read == [])
    #expect(configuration.access.control == ["@wheel", "bob"])
  }

  @Test func `the dialect follows from the endpoints`() throws {
    let configuration = try load("[Auth]\nTokenEndpoint=https://issuer.example/token")
    #expect(configuration.auth.dialect == .oauth2)
    #expect(
      configuration.settings.first { $0.key == "Dialect" }
        == EffectiveSetting(section: "Auth", key: "Dialect", value: "oauth2", origin: "default"))
    let simple = try load("[Auth]\nDialect=simple\nTokenEndpoint=https://issuer.example/token")
    #expect(simple.auth.dialect == .simple)
  }
}
