import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Real processes of other users, by the kernel's word on them. Only root can start those.
@Suite(.timeLimit(.minutes(3)), .serialized, .enabled(if: geteuid() == 0))
struct OtherUserTests {
  private static let tool = "/usr/bin/setpriv"

  struct Caller: Sendable, CustomTestStringConvertible {
    let uid: UInt32
    let gid: UInt32
    var groups: [UInt32] = []
    let may: String

    var testDescription: String { "uid \(uid), gid \(gid), groups \(groups): \(may)" }
  }

  static let callers = [
    Caller(uid: 1001, gid: 1001, may: "read"), Caller(uid: 1002, gid: 1002, may: "control"),
    Caller(uid: 1003, gid: 2001, may: "read"),
    Caller(uid: 1003, gid: 1003, groups: [7, 2001], may: "read"),
    Caller(uid: 1003, gid: 2002, may: "control"),
    Caller(uid: 1003, gid: 1003, groups: [2002], may: "control"),
    Caller(uid: 1001, gid: 1001, groups: [2002], may: "control"),
    Caller(uid: 1003, gid: 1003, may: "open"), Caller(uid: 2001, gid: 1003, may: "open"),
    Caller(uid: 1003, gid: 0, may: "open"),
  ]

  /// Commands of the client by the class of the method that they call first.
  private static let commands: [(words: [String], class: String)] = [
    (["can-i", "org.brewlog.Session.Logout"], "open"), (["status"], "read"), (["tips"], "read"),
    (["tip", "--cache-only"], "read"), (["explain"], "read"), (["history"], "read"),
    (["health"], "read"), (["metrics"], "read"), (["session"], "control"), (["refresh"], "control"),
    (["resume"], "control"), (["config"], "control"), (["reload"], "control"),
    (["logout"], "control"),
  ]

  /// Also B145: who may is asked of the kernel, whatever the mode of the socket lets through.
  @Test func `each user may what the lists say by uid and by any group`() throws {
    guard FileManager.default.isExecutableFile(atPath: Self.tool) else {
      try Test.cancel("there is no \(Self.tool) (Debian: util-linux)")
    }
    let daemon = try DaemonFixture(
      upstream: "http://127.0.0.1:9",
      ["Socket": ["Mode=0666"], "Access": ["Read=1001 @2001", "Control=1002 @2002"]])
    defer { daemon.end() }
    try daemon.start()
    let client = try daemon.clientForOthers()
    for caller in Self.callers {
      for command in Self.commands {
        let child = try start(client, daemon, caller, command.words)
        let isAllowed =
          command.class == "open" || caller.may == "control" || caller.may == command.class
        let status = child.wait()
        #expect((status != .exited(5)) == isAllowed, "\(caller.testDescription): \(command.words)")
        #expect(status != .exited(3), "reached")
      }
    }
    try expectLines(daemon)
  }

  /// Every refused method has a line with uid and pid, and no refusal a second one at once.
  private func expectLines(_ daemon: DaemonFixture) throws {
    // The pipe may lag behind the replies.
    _ = daemon.eventually {
      daemon.log.contains("refused org.brewlog.Session.Logout to uid 2001")
    }
    let lines = daemon.log.split(separator: "\n").filter { $0.contains("refused ") }
    for method in ["Session.Logout", "Session.Inspect", "Service.Reload"] {
      for uid in [1001, 1003, 2001] {
        let own = lines.filter {
          $0.contains("refused org.brewlog.\(method) to uid \(uid), pid ")
        }
        #expect(!own.isEmpty, "\(method), \(uid)")
      }
    }
    #expect(!lines.contains { $0.contains("uid 1002,") })
    #expect(!lines.contains { $0.contains("CanI") })
  }

  private func start(
    _ client: String, _ daemon: DaemonFixture, _ caller: Caller, _ words: [String]
  ) throws -> ChildProcess {
    let groups =
      caller.groups.isEmpty
      ? "--clear-groups" : "--groups=" + caller.groups.map(String.init).joined(separator: ",")
    return try ChildProcess.start(
      Self.tool,
      [
        "--reuid=\(caller.uid)", "--regid=\(caller.gid)", groups, client, "--socket", daemon.socket,
      ] + words, environment: Programs.environment)
  }

  @Test func `the socket's group lets its members in, and a reload makes it another's`() throws {
    guard FileManager.default.isExecutableFile(atPath: Self.tool) else {
      try Test.cancel("there is no \(Self.tool) (Debian: util-linux)")
    }
    let daemon = try DaemonFixture(
      upstream: "http://127.0.0.1:9", ["Socket": ["Mode=0660", "Group=2001"]])
    defer { daemon.end() }
    try daemon.start()
    let client = try daemon.clientForOthers()
    let callers = [
      2_001: Caller(uid: 1003, gid: 1003, groups: [2001], may: "open"),
      2_002: Caller(uid: 1003, gid: 2002, may: "open"),
    ]
    for group in [2_001, 2_002] as [UInt32] {
      #expect(daemon.eventually { ownership(of: daemon.socket) == group })
      for (number, caller) in callers {
        let child = try start(
          client, daemon, caller, ["can-i", "org.brewlog.Service.CanI"])
        #expect(child.wait() == .exited(number == Int(group) ? 0 : 5), "\(caller.testDescription)")
      }
      let text = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
      try daemon.configure(text.replacing("Group=2001", with: "Group=2002"))
      try daemon.process.send(SIGHUP)
    }
  }

  private func ownership(of path: String) -> UInt32? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_gid : nil
  }

  @Test func `a refusal over and over is one line and a count`() throws {
    guard FileManager.default.isExecutableFile(atPath: Self.tool) else {
      try Test.cancel("there is no \(Self.tool) (Debian: util-linux)")
    }
    let daemon = try DaemonFixture(
      upstream: "http://127.0.0.1:9", ["Socket": ["Mode=0666"], "Access": ["Read=", "Control="]])
    defer { daemon.end() }
    try daemon.start()
    let client = try daemon.clientForOthers()
    let caller = Caller(uid: 1003, gid: 1003, may: "open")
    for _ in 0..<10 {
      #expect(try start(client, daemon, caller, ["logout"]).wait() == .exited(5))
    }
    #expect(daemon.eventually { daemon.log.contains("more times") })
    let first = daemon.log.split(separator: "\n").filter {
      $0.contains("refused org.brewlog.Session.Logout") && !$0.contains("more times")
    }
    #expect(first.count == 1)
  }
}
