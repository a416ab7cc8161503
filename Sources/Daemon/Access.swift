import BrewlogAPI
import Platform
import Varlink

/// Who may call which method: root and the daemon's own user all; the users and groups of `Control=`
/// all; those of `Read=` what the method table says is `read`. It knows numbers only: nothing is looked
/// up while a call waits.
struct Access: Sendable {
  struct Members: Equatable, Sendable {
    var users: Set<UInt32> = []
    var groups: Set<UInt32> = []
    /// As configured, for the remedy.
    var text = ""

    func contains(_ peer: PeerCredentials) -> Bool {
      users.contains(peer.uid) || groups.contains(peer.gid)
        || peer.groups.contains { groups.contains($0) }
    }
  }

  var read: Members
  var control: Members
  var ownUID: UInt32

  struct Verdict: Equatable {
    var allowed: Bool
    var rule: String
    var remedy: String?
  }

  /// What lets a peer in.
  private enum Rule {
    case root, daemon, open, read, control
  }

  private func rule(on method: APIMethod, for peer: PeerCredentials) -> Rule? {
    if peer.uid == 0 { return .root }
    if peer.uid == ownUID { return .daemon }
    if method.access == .open { return .open }
    if method.access == .read, read.contains(peer) { return .read }
    return control.contains(peer) ? .control : nil
  }

  func verdict(on method: APIMethod, for peer: PeerCredentials) -> Verdict {
    guard let rule = rule(on: method, for: peer) else { return refusal(of: method) }
    let text =
      switch rule {
      case .root: "root always may"
      case .daemon: "the daemon's own user always may"
      case .open: "whoever can connect may call this"
      case .read: "[Access] Read=\(read.text)"
      case .control: "[Access] Control=\(control.text)"
      }
    return Verdict(allowed: true, rule: text)
  }

  /// Whether ``verdict(on:for:)`` allows it, without the words.
  func allows(_ method: APIMethod, to peer: PeerCredentials) -> Bool {
    rule(on: method, for: peer) != nil
  }

  /// Whether a peer may call what is `control`.
  func mayControl(_ peer: PeerCredentials) -> Bool {
    peer.uid == 0 || peer.uid == ownUID || control.contains(peer)
  }

  private func refusal(of method: APIMethod) -> Verdict {
    let isRead = method.access == .read
    let key = isRead ? "Read" : "Control"
    let members = isRead ? read : control
    let names = members.text.split(whereSeparator: { $0 == " " || $0 == "," })
    let remedy =
      if let group = names.first(where: Self.canBeJoined)?.dropFirst() {
        "join the group \(group) (`usermod -aG \(group) USER`, then log in again)"
      } else {
        "have an administrator add you to [Access] \(key)= in brewlogd.conf"
      }
    return Verdict(
      allowed: false, rule: "[Access] \(key)=\(members.text) does not name you", remedy: remedy)
  }

  /// Root's own group opens far more than this daemon.
  private static func canBeJoined(_ name: Substring) -> Bool {
    name.hasPrefix("@") && name != "@root" && name != "@0"
  }

  /// Names without a number allow nobody, and are returned as warnings.
  static func members(
    of names: [String], key: String, _ accounts: AccountNames
  ) -> (Members, warnings: [String]) {
    var members = Members(text: names.joined(separator: " "))
    var warnings: [String] = []
    for name in names {
      if name.hasPrefix("@") {
        let group = String(name.dropFirst())
        if let gid = accounts.groupID(of: group) {
          members.groups.insert(gid)
        } else {
          warnings.append(
            "[Access] \(key)=: there is no group \(group); it allows nobody. Make it "
              + "(groupadd --system \(group)) and reload, or name one that exists")
        }
      } else if let uid = accounts.userID(of: name) {
        members.users.insert(uid)
      } else {
        warnings.append("[Access] \(key)=: there is no user \(name); it allows nobody")
      }
    }
    return (members, warnings)
  }
}
