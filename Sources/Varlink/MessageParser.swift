import FoundationEssentials
import JSON

/// Why bytes are not the JSON of a message. It never quotes them.
package struct MalformedMessage: Error, Equatable, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

/// JSON text to a value (RFC 8259), for bytes that a peer sent: one reading only, so repeated keys
/// are refused; valid UTF-8; nothing after the value; and a bound on nesting that is checked
/// before each step inwards, so that no message can exhaust the stack. The decoder of the JSON
/// layer takes repeated keys and nests to 512 levels.
struct MessageParser {
  private let bytes: [UInt8]
  private let maxDepth: Int
  private var position = 0

  private init(_ bytes: [UInt8], maxDepth: Int) {
    self.bytes = bytes
    self.maxDepth = maxDepth
  }

  static func object(
    in bytes: [UInt8], maxDepth: Int
  ) throws(MalformedMessage) -> [String: JSONValue] {
    var parser = MessageParser(bytes, maxDepth: maxDepth)
    parser.skipSpace()
    guard parser.peek() == UInt8(ascii: "{") else { throw MalformedMessage("not an object") }
    guard case .object(let members) = try parser.value(depth: 1) else {
      throw MalformedMessage("not an object")
    }
    parser.skipSpace()
    guard parser.peek() == nil else { throw MalformedMessage("bytes after the object") }
    return members
  }

  // MARK: Values

  private mutating func value(depth: Int) throws(MalformedMessage) -> JSONValue {
    guard let byte = peek() else { throw MalformedMessage("no JSON value at the end") }
    switch byte {
    case UInt8(ascii: "{"): return .object(try members(depth: depth))
    case UInt8(ascii: "["): return .array(try elements(depth: depth))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw MalformedMessage("no JSON value at byte \(position)")
    }
  }

  private mutating func members(depth: Int) throws(MalformedMessage) -> [String: JSONValue] {
    try enter(depth)
    var members: [String: JSONValue] = [:]
    if take(UInt8(ascii: "}")) { return members }
    repeat {
      skipSpace()
      guard peek() == UInt8(ascii: "\"") else {
        throw MalformedMessage("no key at byte \(position)")
      }
      let key = try string()
      guard take(UInt8(ascii: ":")) else { throw MalformedMessage("no colon at byte \(position)") }
      skipSpace()
      let value = try value(depth: depth + 1)
      guard members.updateValue(value, forKey: key) == nil else {
        throw MalformedMessage("a key twice, before byte \(position)")
      }
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else {
      throw MalformedMessage("an object without end at byte \(position)")
    }
    return members
  }

  private mutating func elements(depth: Int) throws(MalformedMessage) -> [JSONValue] {
    try enter(depth)
    var elements: [JSONValue] = []
    if take(UInt8(ascii: "]")) { return elements }
    repeat {
      skipSpace()
      elements.append(try value(depth: depth + 1))
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else {
      throw MalformedMessage("an array without end at byte \(position)")
    }
    return elements
  }

  private mutating func enter(_ depth: Int) throws(MalformedMessage) {
    guard depth <= maxDepth else { throw MalformedMessage("nested deeper than \(maxDepth)") }
    position += 1
  }

  private mutating func word(
    _ text: StaticString, _ value: JSONValue
  ) throws(MalformedMessage) -> JSONValue {
    let expected = text.withUTF8Buffer { Array($0) }
    guard bytes[position...].starts(with: expected) else {
      throw MalformedMessage("no JSON value at byte \(position)")
    }
    position += expected.count
    return value
  }

  // MARK: Numbers

  /// A whole number stays whole, also where it is written with a fraction of zeros, as some
  /// languages write every number.
  private mutating func number() throws(MalformedMessage) -> JSONValue {
    let start = position
    if peek() == UInt8(ascii: "-") { position += 1 }
    let whole = digits()
    guard !whole.isEmpty, whole.count == 1 || bytes[whole.lowerBound] != UInt8(ascii: "0") else {
      throw MalformedMessage("no number at byte \(start)")
    }
    let wholeEnd = position
    var isWhole = true
    if peek() == UInt8(ascii: ".") {
      position += 1
      let fraction = digits()
      guard !fraction.isEmpty else { throw MalformedMessage("no number at byte \(start)") }
      isWhole = bytes[fraction].allSatisfy { $0 == UInt8(ascii: "0") }
    }
    if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
      position += 1
      if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { position += 1 }
      guard !digits().isEmpty else { throw MalformedMessage("no number at byte \(start)") }
      isWhole = false
    }
    if isWhole, let number = Int64(String(decoding: bytes[start..<wholeEnd], as: UTF8.self)) {
      return .integer(number)
    }
    guard let number = Decimal(string: String(decoding: bytes[start..<position], as: UTF8.self))
    else { throw MalformedMessage("a number out of range at byte \(start)") }
    return .decimal(number)
  }

  private mutating func digits() -> Range<Int> {
    let start = position
    while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    return start..<position
  }

  // MARK: Strings

  private mutating func string() throws(MalformedMessage) -> String {
    position += 1
    let start = position
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""):
        let text = try text(bytes[start..<position])
        position += 1
        return text
      case UInt8(ascii: "\\"): return try escapedString(from: start)
      case 0..<0x20: throw MalformedMessage("a control character at byte \(position)")
      default: position += 1
      }
    }
    throw MalformedMessage("a string without end")
  }

  private mutating func escapedString(from start: Int) throws(MalformedMessage) -> String {
    var unescaped = Array(bytes[start..<position])
    while let byte = peek() {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return try text(unescaped[...])
      case UInt8(ascii: "\\"): try escape(into: &unescaped)
      case 0..<0x20: throw MalformedMessage("a control character at byte \(position - 1)")
      default: unescaped.append(byte)
      }
    }
    throw MalformedMessage("a string without end")
  }

  private mutating func escape(into unescaped: inout [UInt8]) throws(MalformedMessage) {
    guard let byte = peek() else { throw MalformedMessage("a string without end") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(byte)
    case UInt8(ascii: "b"): unescaped.append(0x08)
    case UInt8(ascii: "f"): unescaped.append(0x0c)
    case UInt8(ascii: "n"): unescaped.append(0x0a)
    case UInt8(ascii: "r"): unescaped.append(0x0d)
    case UInt8(ascii: "t"): unescaped.append(0x09)
    case UInt8(ascii: "u"): unescaped.append(contentsOf: String(try scalar()).utf8)
    default: throw MalformedMessage("an unknown escape at byte \(position - 1)")
    }
  }

  /// `\uXXXX`, or two of them where the first is half of a pair (RFC 8259 section 7).
  private mutating func scalar() throws(MalformedMessage) -> Character {
    let first = try codeUnit()
    var code = UInt32(first)
    if UTF16.isLeadSurrogate(first) {
      guard peek() == UInt8(ascii: "\\"), position + 1 < bytes.count,
        bytes[position + 1] == UInt8(ascii: "u")
      else { throw MalformedMessage("half a surrogate pair at byte \(position)") }
      position += 2
      let second = try codeUnit()
      guard UTF16.isTrailSurrogate(second) else {
        throw MalformedMessage("half a surrogate pair at byte \(position)")
      }
      code = 0x10000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00)
    }
    guard let scalar = Unicode.Scalar(code) else {
      throw MalformedMessage("half a surrogate pair at byte \(position)")
    }
    return Character(scalar)
  }

  private mutating func codeUnit() throws(MalformedMessage) -> UInt16 {
    var code: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw MalformedMessage("no hexadecimal digit at byte \(position)")
      }
      code = code << 4 | UInt16(digit)
      position += 1
    }
    return code
  }

  private func text(_ slice: ArraySlice<UInt8>) throws(MalformedMessage) -> String {
    guard let text = String(validating: slice, as: UTF8.self) else {
      throw MalformedMessage("not UTF-8 before byte \(position)")
    }
    return text
  }

  // MARK: Bytes

  private func peek() -> UInt8? {
    position < bytes.count ? bytes[position] : nil
  }

  /// Takes `byte` if it comes next, after white space.
  private mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard peek() == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte = peek(), byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
      position += 1
    }
  }
}
