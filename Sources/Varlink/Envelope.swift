import JSON

/// The outer object of each message, in both directions.
enum Envelope {
  /// A call, and whether it asks to turn the connection into another protocol.
  struct IncomingCall: Equatable, Sendable {
    var call: Call
    var upgrade: Bool
  }

  /// One reply as a client reads it.
  struct IncomingReply: Equatable, Sendable {
    var error: String?
    var parameters: [String: JSONValue]
    var continues: Bool
  }

  /// Fields that the specification does not name are ignored; those that it names are taken only
  /// in their own types, null standing for absent. A call cannot ask for more replies and none.
  static func decodeCall(
    _ bytes: [UInt8], maxDepth: Int
  ) throws(MalformedMessage) -> IncomingCall {
    let members = try MessageParser.object(in: bytes, maxDepth: maxDepth)
    guard let method = members["method"]?.string else {
      throw MalformedMessage("a call without a method")
    }
    let call = Call(
      method: method,
      parameters: try parameters(members),
      more: try flag("more", members),
      oneway: try flag("oneway", members))
    if call.more && call.oneway { throw MalformedMessage("a call both more and oneway") }
    return IncomingCall(call: call, upgrade: try flag("upgrade", members))
  }

  static func decodeReply(
    _ bytes: [UInt8], maxDepth: Int
  ) throws(MalformedMessage) -> IncomingReply {
    let members = try MessageParser.object(in: bytes, maxDepth: maxDepth)
    let error: String?
    switch members["error"] {
    case nil, .null: error = nil
    case .string(let name): error = name
    default: throw MalformedMessage("error is not a string")
    }
    return IncomingReply(
      error: error, parameters: try parameters(members), continues: try flag("continues", members))
  }

  private static let opening = Array(#"{"parameters":"#.utf8)
  private static let continuation = Array(#","continues":true"#.utf8)

  /// Appends one reply and its NUL.
  static func append(_ reply: Reply, continues: Bool = false, to bytes: inout [UInt8]) {
    switch reply {
    case .success(let parameters):
      bytes.append(contentsOf: opening)
      bytes.append(contentsOf: parameters)
      if continues { bytes.append(contentsOf: continuation) }
      bytes.append(UInt8(ascii: "}"))
    case .failure(let error):
      bytes.append(
        contentsOf: text(of: [
          "error": .string(error.name), "parameters": .object(error.parameters),
        ]))
    }
    bytes.append(0)
  }

  /// One call and its NUL.
  static func encode(_ call: Call) -> [UInt8] {
    var members: [String: JSONValue] = [
      "method": .string(call.method), "parameters": .object(call.parameters),
    ]
    if call.more { members["more"] = true }
    if call.oneway { members["oneway"] = true }
    return text(of: members) + [0]
  }

  /// An object's text. The only value that JSON cannot carry is a decimal that is not a number,
  /// which nothing here makes; it would come out as an empty object.
  static func text(of members: [String: JSONValue]) -> [UInt8] {
    do {
      return try JSONText.encode(JSONValue.object(members))
    } catch {
      return Array("{}".utf8)
    }
  }

  private static func parameters(
    _ members: [String: JSONValue]
  ) throws(MalformedMessage) -> [String: JSONValue] {
    switch members["parameters"] {
    case nil, .null: return [:]
    case .object(let parameters): return parameters
    default: throw MalformedMessage("parameters are not an object")
    }
  }

  private static func flag(
    _ name: String, _ members: [String: JSONValue]
  ) throws(MalformedMessage) -> Bool {
    switch members[name] {
    case nil, .null: return false
    case .bool(let flag): return flag
    default: throw MalformedMessage("\(name) is not a boolean")
    }
  }
}
