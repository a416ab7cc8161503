import Configuration
import Platform

/// The numbers behind the names of users and groups in the configuration. The name service may ask
/// the network, and take its time: once the loop serves, it is asked on a thread of its own, and the
/// loop looks at nothing but the answers.
struct AccountNames: Sendable {
  /// Asks for one name, a group's with an `@` before it; nil where there is none. It may block.
  typealias Ask = @Sendable (String) -> UInt32?

  private let asked: Set<String>
  private let numbers: [String: UInt32]

  /// Blocks: for the start, before the loop runs.
  init(asking names: Set<String>, _ ask: Ask = ask) {
    asked = names
    var numbers: [String: UInt32] = [:]
    for name in names { numbers[name] = ask(name) }
    self.numbers = numbers
  }

  /// As ``init(asking:_:)``, on a thread that ends with the answer.
  static func lookUp(_ names: Set<String>, _ ask: @escaping Ask) async -> AccountNames {
    await withCheckedContinuation { continuation in
      let thread = SystemThread.start {
        continuation.resume(returning: AccountNames(asking: names, ask))
      }
      if let thread { return thread.letGo() }
      // Nobody is looked up where there is no thread: they are told of as names that allow nobody.
      continuation.resume(returning: AccountNames(asking: names) { _ in nil })
    }
  }

  /// All that a configuration names; a number is no name.
  static func names(in configuration: DaemonConfiguration) -> Set<String> {
    var names = configuration.access.read + configuration.access.control
    if let group = configuration.socket.group { names.append("@" + group) }
    return Set(names.filter { UInt32($0.hasPrefix("@") ? $0.dropFirst() : $0[...]) == nil })
  }

  static let ask: Ask = { name in
    name.hasPrefix("@")
      ? Accounts.groupID(of: String(name.dropFirst())) : Accounts.userID(of: name)
  }

  /// Whether all of these have been asked for.
  func covers(_ names: Set<String>) -> Bool { asked.isSuperset(of: names) }

  /// A number is taken as it is.
  func userID(of name: String) -> UInt32? { UInt32(name) ?? numbers[name] }

  /// The same for a group's name, without the `@`.
  func groupID(of name: String) -> UInt32? { UInt32(name) ?? numbers["@" + name] }
}
