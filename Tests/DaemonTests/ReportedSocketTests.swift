import DemoUpstream
import FoundationEssentials
import Glibc
import JSON
import Platform
import TestSupport
import Testing

/// Faults of sockets' lives that others have met (public-reports.md, by their ids), against the built
/// daemon. One test at a time: each has processes of its own.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ReportedSocketTests {
  /// Nothing listens where the upstream should be, unless a test brings one.
  private static let nowhere = "http://127.0.0.1:9"

  private func with(
    _ sections: [String: [String]] = [:], _ body: (DaemonFixture) throws -> Void
  ) throws {
    let daemon = try DaemonFixture(upstream: Self.nowhere, sections)
    defer { daemon.end() }
    try body(daemon)
  }

  @Test func `B137: a socket that a crash has left is replaced`() throws {
    try with { daemon in
      try daemon.start()
      daemon.crash()
      #expect(access(daemon.socket, F_OK) == 0)
      try daemon.start()
      #expect(daemon.isServing)
    }
  }

  @Test func `B138: a daemon that does not answer keeps its socket from a second one`() throws {
    try with { daemon in
      try daemon.start()
      let first = try daemon.process
      first.send(SIGSTOP)
      var before = stat()
      #expect(stat(daemon.socket, &before) == 0)
      let second = try daemon.spawn()
      #expect(second.wait() == .exited(75), "\(second.standardError)")
      var after = stat()
      #expect(stat(daemon.socket, &after) == 0)
      #expect(before.st_ino == after.st_ino)
      first.send(SIGCONT)
      #expect(daemon.isServing)
    }
  }

  @Test func `B141: a second daemon of the same state refuses and leaves it alone`() throws {
    let upstream = try DemoUpstream(DemoOptions())
    defer { upstream.close() }
    let daemon = try DaemonFixture(upstream: upstream.baseURL)
    defer { daemon.end() }
    try daemon.start()
    let tokens = upstream.tokens
    let imported = try daemon.ask(
      "org.brewlog.Session.ImportCredentials",
      ",\"parameters\":{\"accessToken\":\"\(tokens.access)\",\"refreshToken\":\"\(tokens.refresh)\"}"
    )
    #expect(imported?.contains("\"signedIn\"") == true)
    let before = try daemon.ask("org.brewlog.Session.Inspect")
    let other = daemon.directory + "/other.conf"
    let text = String(
      decoding: FileManager.default.contents(atPath: daemon.configurationFile) ?? Data(),
      as: UTF8.self)
    let moved = text.replacing(
      "Path=\(daemon.socket)", with: "Path=\(daemon.directory)/other/other.sock")
    #expect(FileManager.default.createFile(atPath: other, contents: Data(moved.utf8)))
    let second = try ChildProcess.start(
      Programs.path("brewlogd"), ["--config", other], environment: Programs.environment)
    #expect(second.wait() == .exited(75), "\(second.standardError)")
    #expect(second.standardError.contains("holds the state directory"), "\(second.standardError)")
    #expect(upstream.log.isEmpty)
    #expect(try daemon.ask("org.brewlog.Session.Inspect") == before)
  }

  @Test(arguments: [107, 108, 200])
  func `B142: a path that is too long is said so with both numbers`(length: Int) throws {
    try with { daemon in
      let directory = daemon.directory + "/long"
      let name = String(repeating: "n", count: length - directory.utf8.count - 1)
      let path = directory + "/" + name
      let text = """
        [Upstream]
        BaseURL=\(Self.nowhere)
        [Store]
        Directory=\(daemon.stateDirectory)
        [Socket]
        Path=\(path)
        """
      try daemon.configure(text)
      if length <= UnixSocket.longestPath {
        try daemon.start()
        let client = try WireClient(path)
        client.call("org.brewlog.Session.Status")
        #expect(client.reply() != nil)
        return
      }
      let child = try daemon.spawn()
      let status = child.wait()
      #expect(status == .exited(73) || status == .exited(78), "one that is not restarted")
      #expect(child.standardError.contains("\(length)"))
      #expect(child.standardError.contains("107"))
      let left = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
      #expect(left.isEmpty, "nothing of a shortened name")
    }
  }

  @Test func `B143: a socket file that vanishes is bound anew`() throws {
    try with { daemon in
      try daemon.start()
      let old = try daemon.connect()
      #expect(unlink(daemon.socket) == 0)
      #expect(daemon.eventually { daemon.isServing })
      old.call("org.brewlog.Session.Status")
      #expect(old.reply() != nil)
    }
  }

  @Test func `B147: at the descriptor limit the daemon rests, serves and recovers`() throws {
    let upstream = try DemoUpstream(DemoOptions())
    defer { upstream.close() }
    let daemon = try DaemonFixture(upstream: upstream.baseURL)
    // What other tests have open at this moment may be inherited, and is not to count.
    let script = """
      for file in /proc/$$/fd/*; do
        number=${file##*/}
        [ "$number" -le 2 ] || eval "exec $number>&-"
      done
      ulimit -n 40 && exec "$@"
      """
    let child = try ChildProcess.start(
      "/bin/bash",
      ["-c", script, "bash", Programs.path("brewlogd"), "--config", daemon.configurationFile],
      environment: Programs.environment)
    #expect(child.waitForOutput(" serves ", onError: true), "\(child.standardError)")
    let old = try daemon.connect()
    old.call("org.brewlog.Session.Status")
    #expect(old.reply() != nil)
    var crowd = (0..<60).compactMap { _ in try? daemon.connect() }
    let before = processorTime(child.pid)
    // Old connections are served while as many as want to wait at the door.
    for _ in 0..<20 {
      usleep(100_000)
      old.call("org.brewlog.Session.Status")
      #expect(old.reply() != nil)
    }
    #expect(processorTime(child.pid) - before < 1.0, "it does not spin")
    #expect(child.standardError.split(separator: "\n").count < 20)
    // The store and the upstream have descriptors left.
    let tokens = upstream.tokens
    old.call(
      "org.brewlog.Session.ImportCredentials",
      ",\"parameters\":{\"accessToken\":\"\(tokens.access)\",\"refreshToken\":\"\(tokens.refresh)\"}"
    )
    let imported = old.reply()
    #expect(imported?.contains("\"signedIn\"") == true, "\(child.standardError)")
    old.call("org.brewlog.Tips.Today")
    let tip = old.reply()
    #expect(tip?.contains("\"tip\"") == true, "\(child.standardError)")
    crowd.removeAll()
    #expect(daemon.eventually { daemon.isServing })
    #expect(child.terminate() == .exited(0))
  }

  private func processorTime(_ pid: Int32) -> Double {
    let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") ?? Data()
    let fields = String(decoding: data, as: UTF8.self).split(separator: ")").last?
      .split(separator: " ")
    guard let fields, fields.count > 12, let user = Double(fields[11]),
      let kernel = Double(fields[12])
    else { return 0 }
    return (user + kernel) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  @Test func `B148: clients that come and go leave neither descriptors nor memory`() throws {
    try with { daemon in
      try daemon.start()
      let keeper = try daemon.connect()
      keeper.call("org.brewlog.Session.Status")
      _ = keeper.reply()
      func round(_ count: Int) throws {
        for number in 0..<count {
          let client = try daemon.connect()
          switch number % 4 {
          case 0: client.send("{\"method\":\"org.brew")
          case 1:
            client.call("org.brewlog.Session.Status")
            client.reset()
          case 2:
            client.call("org.brewlog.Session.Watch", ",\"more\":true")
            client.endSending()
          default: break
          }
        }
      }
      try round(400)
      let before = try daemon.descriptors
      let memory = try daemon.privateMemory
      try round(10_000)
      #expect(try daemon.eventually { try daemon.descriptors <= before })
      #expect(try daemon.privateMemory <= memory + 4_096)
      keeper.call("org.brewlog.Session.Status")
      #expect(keeper.reply() != nil)
    }
  }

  @Test func `B149: a thousand clients that close before their reply do no harm`() throws {
    try with { daemon in
      try daemon.start()
      for _ in 0..<1_000 {
        let client = try daemon.connect()
        for _ in 0..<4 { client.call("org.brewlog.Tips.Today") }
      }
      #expect(daemon.isServing)
      #expect(daemon.log.split(separator: "\n").count < 50, "no flood of lines")
      #expect(daemon.stop() == .exited(0))
    }
  }

  @Test func `B153: a reply that a slow reader takes in small pieces is whole`() throws {
    let upstream = try DemoUpstream(DemoOptions())
    defer { upstream.close() }
    let daemon = try DaemonFixture(upstream: upstream.baseURL, ["Upstream": ["MaxBodyBytes=4M"]])
    defer { daemon.end() }
    try daemon.start()
    let body = String(repeating: "brew ", count: (1 << 20) / 5)
    upstream.script(
      .get, "/tips/large", [.json("{\"id\":\"large\",\"title\":\"t\",\"body\":\"\(body)\"}")])
    let tokens = upstream.tokens
    let client = try daemon.connect()
    client.narrow(to: 4_096)
    client.call(
      "org.brewlog.Session.ImportCredentials",
      ",\"parameters\":{\"accessToken\":\"\(tokens.access)\",\"refreshToken\":\"\(tokens.refresh)\"}"
    )
    #expect(client.reply()?.contains("\"signedIn\"") == true)
    client.call("org.brewlog.Tips.Get", ",\"parameters\":{\"id\":\"large\"}")
    client.call("org.brewlog.Session.Status")
    // Others are served while the reply is on its way.
    let first = client.read(atMost: 1_024)
    #expect(first.count == 1_024)
    #expect(daemon.isServing)
    client.putBack(first)
    let reply = try #require(client.reply(inPiecesOf: 1_024))
    let value = try JSONText.decode(JSONValue.self, from: Array(reply.utf8))
    #expect(value["parameters"]?["tip"]?["body"]?.string == body)
    #expect(client.reply()?.contains("\"counters\"") == true)
  }

  @Test func `B162: watchers that are killed are noticed without an event`() throws {
    try with { daemon in
      try daemon.start()
      let before = try daemon.descriptors
      for _ in 0..<20 {
        let children = try (0..<5).map { _ in
          try ChildProcess.start(
            Programs.path("brewlogctl"), ["--socket", daemon.socket, "watch"],
            environment: Programs.environment)
        }
        for child in children { #expect(child.waitForOutput("signed out")) }
        for child in children { child.terminate(SIGKILL) }
      }
      #expect(try daemon.eventually { try daemon.descriptors <= before })
      #expect(daemon.isServing)
    }
  }
}
