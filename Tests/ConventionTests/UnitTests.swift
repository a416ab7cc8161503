import Testing

/// What units, manual and code say alike.
@Suite(.timeLimit(.minutes(1)))
struct UnitTests {
  private static let services = [
    "systemd/brewlogd.service", "systemd/brewlogd@.service", "systemd/user/brewlogd.service",
  ]

  private static func lines(_ path: String) -> [String] {
    (Repository.text(path) ?? "").split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("#") }
  }

  @Test(arguments: services)
  func `a restart is not tried where it would change nothing`(path: String) {
    let lines = Self.lines(path)
    #expect(lines.contains("RestartPreventExitStatus=64 65 66 73 75 78"))
    #expect(lines.contains("Restart=on-failure"))
  }

  /// Stopping the service would remove the directory, and the socket unit's file with it.
  @Test(arguments: services)
  func `no service has a runtime directory of its own`(path: String) {
    #expect(!Self.lines(path).contains { $0.hasPrefix("RuntimeDirectory") })
  }

  @Test(arguments: services)
  func `nothing of the memory can reach a disk`(path: String) {
    let lines = Self.lines(path)
    for line in ["LimitCORE=0", "MemorySwapMax=0", "Environment=SWIFT_BACKTRACE=enable=no"] {
      #expect(lines.contains(line), "\(line)")
    }
  }

  /// What a unit starts is a program that is installed, with a command or an option that it has.
  @Test(arguments: services + ["systemd/examples/brewlog-metrics.service"])
  func `what a unit starts is there`(path: String) throws {
    let commands = try Repository.files(in: "Sources/CLI/Commands", endings: ["Command.swift"])
      .compactMap { Repository.text($0) }
    var count = 0
    for line in Self.lines(path) where line.hasPrefix("Exec") {
      let words = line.drop { $0 != "=" }.dropFirst().split(separator: " ")
      let program = words.first?.split(separator: "/").last ?? ""
      if program == "install" { continue }
      count += 1
      let isOurs = ["brewlogd", "brewlogctl"].contains(program)
      #expect(isOurs || Repository.exists("systemd/examples/\(program)"), "\(line)")
      if program == "brewlogctl" {
        let command = try #require(words.last)
        #expect(commands.contains { $0.contains("= Command(\n    \"\(command)\",") }, "\(line)")
      }
    }
    #expect(count > 0)
  }

  @Test(arguments: services + ["systemd/brewlogd.socket", "systemd/user/brewlogd.socket"])
  func `every manual that a unit names is installed`(path: String) {
    for line in Self.lines(path) where line.hasPrefix("Documentation=") {
      for page in line.dropFirst("Documentation=".count).split(separator: " ") {
        let name = page.dropFirst("man:".count).filter { $0 != ")" }
          .split(separator: "(").joined(separator: ".")
        #expect(
          page.hasPrefix("man:") && Repository.exists("Sources/Manual/\(name).scd"), "\(page)")
      }
    }
  }

  @Test func `each file for systemd is installed`() throws {
    let script = try #require(Repository.text("systemd/install"))
    for file in try Repository.files(in: "systemd", endings: [".sysusers", ".tmpfiles"]) {
      #expect(script.contains("put 0644 \(file) "), "\(file)")
    }
    for folder in ["systemd/*.service systemd/*.socket", "systemd/user/*", "systemd/examples/*"] {
      #expect(script.contains("in \(folder)"), "\(folder)")
    }
  }

  @Test func `an instance is as shut in as the one`() {
    func sandbox(_ path: String) -> [String] {
      let lines = Self.lines(path)
      return lines.firstIndex(of: "NoNewPrivileges=yes").map {
        Array(lines[$0...].prefix { !$0.hasPrefix("[") })
      } ?? []
    }
    let one = sandbox("systemd/brewlogd.service")
    #expect(one.count > 20)
    #expect(sandbox("systemd/brewlogd@.service") == one)
  }

  @Test func `each event of the journal is in the manual`() throws {
    let source = try #require(Repository.text("Sources/Daemon/LogFields.swift"))
    let manual = try #require(Repository.text("Sources/Manual/brewlogd.8.scd"))
    let events = source.split(separator: "\n").compactMap { line -> Substring? in
      let parts = line.split(separator: "\"")
      return parts.count == 5 && parts[2] == ": " ? parts[1] : nil
    }
    #expect(events.count > 10)
    for event in events { #expect(manual.contains("_\(event)_"), "\(event)") }
  }

  @Test func `the manual takes the keys from the shipped configuration`() throws {
    let manual = try #require(Repository.text("Sources/Manual/brewlogd.conf.5.scd"))
    #expect(manual.split(separator: "\n").contains("@keys@"))
    #expect(Repository.exists("config/brewlogd.conf"))
  }
}
