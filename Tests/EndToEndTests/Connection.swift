import BrewlogAPI
import Execution
import Glibc
import JSON
import Platform
import TestSupport
import Varlink

/// A connection on which calls are written now and replies read later, so that many can be under way
/// at once from one thread.
final class Connection {
  enum Outcome: Equatable {
    case reply(JSONValue)
    case failure(APIError)
    /// The daemon has ended the connection.
    case end

    func decoded<Reply: Decodable>(as type: Reply.Type) throws -> Reply {
      guard case .reply(let value) = self else {
        throw DaemonFailure(description: "no reply but \(self)")
      }
      return try JSONText.decode(type, from: JSONText.encode(value))
    }

    var error: APIError? {
      if case .failure(let error) = self { error } else { nil }
    }
  }

  private var descriptor: FileDescriptor?
  private let raw: Int32
  private var unread: [UInt8] = []

  init(_ path: String) throws {
    let descriptor = try UnixSocket.connect(to: path, timeout: .seconds(20))
    raw = descriptor.rawValue
    self.descriptor = consume descriptor
  }

  /// With `more`, every reply of the stream is one ``receive(within:)``.
  func send(
    _ method: APIMethod, _ parameters: [String: JSONValue] = [:], more: Bool = false
  ) throws {
    let call: JSONValue = [
      "method": .string(method.rawValue), "parameters": .object(parameters), "more": .bool(more),
    ]
    let bytes = try JSONText.encode(call) + [0]
    guard Glibc.send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw SystemError.last("send a call")
    }
  }

  /// Several calls in one write.
  func send(together calls: [(method: APIMethod, parameters: [String: JSONValue])]) throws {
    var bytes: [UInt8] = []
    for call in calls {
      let message: JSONValue = [
        "method": .string(call.method.rawValue), "parameters": .object(call.parameters),
      ]
      bytes += try JSONText.encode(message) + [0]
    }
    guard Glibc.send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw SystemError.last("send calls")
    }
  }

  /// The next reply. Throws where none comes in time.
  func receive(within span: Duration = .seconds(30)) throws -> Outcome {
    let limit = SystemClock.now.advanced(by: span)
    while true {
      if let end = unread.firstIndex(of: 0) {
        let message = unread[..<end]
        unread = Array(unread[(end + 1)...])
        return try outcome(message)
      }
      var entry = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
      let left = SystemClock.now.duration(to: limit) / .milliseconds(1)
      guard left > 0, poll(&entry, 1, Int32(left.rounded(.up))) > 0 else {
        throw DaemonFailure(description: "no reply within \(span)")
      }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = read(raw, &buffer, buffer.count)
      if count <= 0 { return .end }
      unread += buffer[..<count]
    }
  }

  /// Whether anything can be read now.
  var hasReply: Bool {
    var entry = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
    return !unread.isEmpty || poll(&entry, 1, 0) > 0
  }

  func close() { descriptor = nil }

  private func outcome(_ message: ArraySlice<UInt8>) throws -> Outcome {
    let envelope = try JSONText.decode(JSONValue.self, from: message)
    let parameters = envelope["parameters"] ?? [:]
    guard let name = envelope["error"]?.string else { return .reply(parameters) }
    return .failure(
      APIError(VarlinkError(name: name, parameters: parameters.object ?? [:])))
  }
}

extension DaemonFixture {
  /// One call on a connection of its own.
  func outcome(
    _ method: APIMethod, _ parameters: [String: JSONValue] = [:]
  ) throws -> Connection.Outcome {
    let connection = try Connection(socket)
    try connection.send(method, parameters)
    return try connection.receive()
  }

  func call<Reply: Decodable>(
    _ method: APIMethod, _ parameters: [String: JSONValue] = [:], as type: Reply.Type
  ) throws -> Reply {
    try outcome(method, parameters).decoded(as: type)
  }

  func status() throws -> StatusReply { try call(.status, as: StatusReply.self) }

  func inspect() throws -> InspectReply { try call(.inspect, as: InspectReply.self) }

  func today() throws -> Entry { try call(.today, as: Entry.self) }

  /// Asks for the status until it is as a test needs it to go on; throws where that does not come.
  @discardableResult
  func waitForStatus(
    _ what: String, _ isMet: (StatusReply) -> Bool
  ) throws -> StatusReply {
    try wait(what, asking: { try status() }, isMet)
  }

  /// The same for anything else that the daemon tells.
  @discardableResult
  func wait<Value>(
    _ what: String, asking ask: () throws -> Value, _ isMet: (Value) -> Bool
  ) throws -> Value {
    let limit = SystemClock.now.advanced(by: .seconds(30))
    while true {
      let value = try ask()
      if isMet(value) { return value }
      if SystemClock.now >= limit {
        throw DaemonFailure(description: "waited in vain until \(what): \(value)")
      }
      // The daemon tells nobody by itself; no outcome depends on this pause.
      usleep(2_000)
    }
  }
}
