import BrewlogAPI
import Platform
import Testing

@testable import Daemon

/// Who may call what: every kind of caller, and every method.
@Suite(.timeLimit(.minutes(1)))
struct AccessTests {
  private static let access = Access(
    read: Access.Members(users: [1001], groups: [2001], text: "1001 @2001"),
    control: Access.Members(users: [1002], groups: [2002], text: "1002 @2002"), ownUID: 990)

  /// What a caller may call beside what is open to all.
  struct Row: Sendable, CustomTestStringConvertible {
    let who: String
    let peer: PeerCredentials
    let read: Bool
    let control: Bool

    init(_ who: String, _ uid: UInt32, _ gid: UInt32, _ groups: [UInt32], _ may: String) {
      self.who = who
      peer = PeerCredentials(pid: 1, uid: uid, gid: gid, groups: groups)
      read = may != "open"
      control = may == "control"
    }

    var testDescription: String { who }
  }

  static let rows = [
    Row("root", 0, 0, [], "control"),
    Row("the daemon's own user", 990, 990, [], "control"),
    Row("a user of Read=", 1001, 1001, [], "read"),
    Row("a user of Control=", 1002, 1002, [], "control"),
    Row("whose first group is in Read=", 1003, 2001, [], "read"),
    Row("whose second group is in Read=", 1003, 1003, [7, 2001], "read"),
    Row("whose first group is in Control=", 1003, 2002, [], "control"),
    Row("whose second group is in Control=", 1003, 1003, [2002, 7], "control"),
    Row("in both lists", 1001, 1001, [2002], "control"),
    Row("a stranger", 1003, 1003, [], "open"),
    Row("a stranger in root's group", 1003, 0, [0], "open"),
    Row("whose uid is the number of a group", 2002, 1003, [], "open"),
    Row("whose group is the number of a user", 1003, 1002, [1002], "open"),
    Row("nobody", 65534, 65534, [], "open"),
    Row("the highest uid", .max, .max, [.max], "open"),
  ]

  @Test(arguments: rows)
  func `each caller may what its class allows and nothing else`(row: Row) {
    for method in APIMethod.allCases {
      let verdict = Self.access.verdict(on: method, for: row.peer)
      let expected =
        switch method.access {
        case .open: true
        case .read: row.read
        case .control: row.control
        }
      #expect(verdict.allowed == expected, "\(method)")
      #expect((verdict.remedy == nil) == verdict.allowed, "\(method)")
      #expect(!verdict.rule.isEmpty)
    }
    #expect(Self.access.mayControl(row.peer) == row.control)
  }

  @Test func `the rule and the remedy name the line and the group`() {
    let stranger = PeerCredentials(pid: 1, uid: 1003, gid: 1003, groups: [])
    let logout = Self.access.verdict(on: .logout, for: stranger)
    #expect(logout.rule == "[Access] Control=1002 @2002 does not name you")
    #expect(logout.remedy?.contains("group 2002") == true)
    let status = Self.access.verdict(on: .status, for: stranger)
    #expect(status.rule == "[Access] Read=1001 @2001 does not name you")
    #expect(status.remedy?.contains("group 2001") == true)
  }

  @Test(arguments: [["alice"], [], ["@root"], ["@0"]])
  func `without a group to join the remedy is an administrator`(names: [String]) {
    let (members, _) = Access.members(
      of: names, key: "Control", AccountNames(asking: Set(names)))
    let access = Access(read: Access.Members(), control: members, ownUID: 990)
    let stranger = PeerCredentials(pid: 1, uid: 1003, gid: 1003, groups: [])
    let remedy = access.verdict(on: .logout, for: stranger).remedy
    #expect(remedy?.contains("administrator") == true)
    #expect(remedy?.contains("usermod") == false)
  }

  @Test func `names and numbers resolve and what does not allows nobody`() {
    let names = ["root", "1001", "@root", "@2001", "no-such-user-1", "@no-such-group-1"]
    let (members, warnings) = Access.members(
      of: names, key: "Read", AccountNames(asking: Set(names)))
    #expect(members.users == [0, 1001])
    #expect(members.groups == [0, 2001])
    #expect(warnings.count == 2)
    #expect(warnings[0].contains("no user no-such-user-1"))
    #expect(warnings[1].contains("no group no-such-group-1"))
    #expect(members.text == "root 1001 @root @2001 no-such-user-1 @no-such-group-1")
  }
}
