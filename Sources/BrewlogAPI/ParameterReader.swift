package import JSON
package import Varlink

/// Takes a call's parameters apart, one by one. What has not been asked for when `finish` is called
/// is an unknown parameter, and refused by name: a misspelt `ifGeneration` must not log out
/// another session than was meant. A null counts as absent, as Varlink has it.
package struct ParameterReader {
  private var rest: [String: JSONValue]

  package init(_ parameters: [String: JSONValue]) {
    rest = parameters
  }

  private mutating func take(_ name: String) -> JSONValue? {
    guard let value = rest.removeValue(forKey: name), value != .null else { return nil }
    return value
  }

  package mutating func optionalString(_ name: String) throws(VarlinkError) -> String? {
    guard let value = take(name) else { return nil }
    guard let text = value.string else { throw .invalidParameter(name) }
    return text
  }

  package mutating func string(_ name: String) throws(VarlinkError) -> String {
    guard let text = try optionalString(name) else { throw .invalidParameter(name) }
    return text
  }

  package mutating func optionalBool(_ name: String) throws(VarlinkError) -> Bool? {
    guard let value = take(name) else { return nil }
    guard let flag = value.bool else { throw .invalidParameter(name) }
    return flag
  }

  package mutating func optionalInt(
    _ name: String, in range: ClosedRange<Int> = Int.min...Int.max
  ) throws(VarlinkError) -> Int? {
    guard let value = take(name) else { return nil }
    guard let number = value.integer.flatMap({ Int(exactly: $0) }), range.contains(number) else {
      throw .invalidParameter(name)
    }
    return number
  }

  package mutating func int(
    _ name: String, in range: ClosedRange<Int> = Int.min...Int.max
  ) throws(VarlinkError) -> Int {
    guard let number = try optionalInt(name, in: range) else { throw .invalidParameter(name) }
    return number
  }

  package func finish() throws(VarlinkError) {
    // The first by name, so that the same call is always refused for the same parameter.
    if let name = rest.filter({ $0.value != .null }).keys.min() { throw .invalidParameter(name) }
  }
}
