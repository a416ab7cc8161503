import Configuration
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SearchTests {
  private let base = "[Upstream]\nBaseURL=http://127.0.0.1:1\n"

  private func keepTips(_ number: Int) -> String { "[Cache]\nKeepTips=\(number)\n" }

  @Test func `one main file counts, and the drop-ins of all places by name`() throws {
    let table = FileTable(files: [
      "/usr/lib/brewlog/brewlogd.conf": base + "TodayPath=/vendor\n",
      "/run/brewlog/brewlogd.conf": base + keepTips(1),
      "/usr/lib/brewlog/brewlogd.conf.d/20-b.conf": keepTips(2),
      "/etc/brewlog/brewlogd.conf.d/10-a.conf": keepTips(3),
      "/etc/brewlog/brewlogd.conf.d/30-not.txt": keepTips(4),
      "/usr/lib/brewlog/brewlogd.conf.d/10-a.conf": "[Log]\nLevel=debug\n",
    ])
    let configuration = try load(table)
    #expect(configuration.upstream.todayPath == "/tips/today")
    #expect(configuration.cache.keepTips == 2)
    #expect(configuration.log.level == .info)
    #expect(
      configuration.settings.first { $0.key == "KeepTips" }?.origin
        == "/usr/lib/brewlog/brewlogd.conf.d/20-b.conf:2")
  }

  @Test func `an instance's files come after the common ones`() throws {
    let table = FileTable(files: [
      mainFile: base + keepTips(1),
      "/etc/brewlog/brewlogd.conf.d/99.conf": keepTips(2),
      "/usr/lib/brewlog/brewlogd@work.conf": keepTips(3),
    ])
    let configuration = try load(table, instance: "work")
    #expect(configuration.cache.keepTips == 3)
    #expect(configuration.store.directory == "/var/lib/brewlog@work")
    #expect(configuration.socket.path == "/run/brewlog@work/brewlog.sock")
    #expect(try load(table).cache.keepTips == 2)
  }

  @Test func `a user's daemon has places and defaults of its own`() throws {
    let table = FileTable(files: ["/home/ada/.config/brewlog/brewlogd.conf": base])
    let configuration = try load(
      table, scope: .user(1000),
      environment: [
        "HOME": "/home/ada", "XDG_RUNTIME_DIR": "/run/user/1000", "XDG_CONFIG_HOME": "relative",
        "STATE_DIRECTORY": "/not/this",
      ])
    #expect(configuration.store.directory == "/home/ada/.local/state/brewlog")
    #expect(configuration.socket.path == "/run/user/1000/brewlog/brewlog.sock")
    #expect(configuration.socket.mode == 0o600)
    #expect(configuration.socket.group == nil)
    #expect(configuration.access.read == [])
    #expect(configuration.access.control == ["1000"])
  }

  @Test func `a user without an environment is told what is missing`() {
    let error = #expect(throws: ConfigurationError.self) {
      try load(FileTable(), scope: .user(1000))
    }
    #expect(error?.problems.map(\.key) == ["BaseURL", "Directory", "Path"])
  }

  @Test func `the unit's state directory is taken as it is`() throws {
    let table = FileTable(files: [mainFile: base])
    let configuration = try load(
      table, instance: "work", environment: ["STATE_DIRECTORY": "/srv/a:/srv/b"])
    #expect(configuration.store.directory == "/srv/a")
    #expect(configuration.store.keyFile == "/srv/a/master.key")
  }

  @Test func `a file that is named stands alone`() throws {
    let table = FileTable(files: [
      mainFile: keepTips(1), "/etc/brewlog/brewlogd.conf.d/1.conf": keepTips(2),
      "/tmp/my.conf": base,
    ])
    let source = ConfigurationSource(file: "/tmp/my.conf", environment: [:])
    #expect(try DaemonConfiguration.load(from: source, files: table.port).cache.keepTips == 1000)
    let missing = ConfigurationSource(file: "/tmp/none.conf", environment: [:])
    let error = #expect(throws: ConfigurationError.self) {
      try DaemonConfiguration.load(from: missing, files: table.port)
    }
    #expect(error?.description == "/tmp/none.conf: there is no such file")
  }

  @Test func `what cannot be read is an error, not passed over`() {
    var table = FileTable(files: ["/usr/lib/brewlog/brewlogd.conf": base])
    table.unreadable = [mainFile, "/run/brewlog/brewlogd.conf.d"]
    let error = #expect(throws: ConfigurationError.self) { try load(table) }
    let text = error?.description ?? ""
    #expect(text.contains("\(mainFile): it cannot be read: permission denied"))
    #expect(text.contains("/run/brewlog/brewlogd.conf.d: it cannot be listed: permission denied"))
  }

  @Test(arguments: [
    ("work", true), ("a.b-c_1", true), ("", false), (".", false), ("a/b", false), ("a b", false),
    ("é", false),
  ])
  func `an instance's name can be part of a file name`(name: String, isGood: Bool) {
    #expect(ConfigurationSource.isInstanceName(name) == isGood)
  }
}
