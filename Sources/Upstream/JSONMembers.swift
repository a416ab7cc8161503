import Secrets

/// The members of a JSON object (RFC 8259), found in its bytes without taking a value out of them.
/// The JSON library makes strings, and a string cannot be wiped: so a token answer is read by this,
/// and each token is copied once, to where it stays.
struct JSONMembers {
  enum Value: Equatable {
    /// The bytes between the quotation marks, escapes and all.
    case string(Range<Int>)
    case number(Range<Int>)
    case bool(Bool)
    case null
    /// An array or an object.
    case nested
  }

  private(set) var values: [String: Value] = [:]

  /// Nil unless `bytes` is one whole JSON object; a name that comes twice is no proper one. A byte
  /// order mark in front is tolerated.
  init?(_ bytes: [UInt8]) {
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    var cursor = Cursor(bytes: bytes, position: start)
    cursor.skipSpace()
    guard cursor.take("{") else { return nil }
    cursor.skipSpace()
    if !cursor.take("}") {
      repeat {
        cursor.skipSpace()
        guard let range = cursor.string(), let key = JSONMembers.text(bytes, range) else {
          return nil
        }
        cursor.skipSpace()
        guard cursor.take(":"), let value = cursor.value(depth: 1),
          values.updateValue(value, forKey: key) == nil
        else { return nil }
        cursor.skipSpace()
      } while cursor.take(",")
      guard cursor.take("}") else { return nil }
    }
    cursor.skipSpace()
    guard cursor.isAtEnd else { return nil }
  }

  /// The bytes of a string, escapes undone; nil where it is no proper UTF-8. Whoever gets them
  /// wipes them.
  static func unescaped(_ bytes: [UInt8], _ range: Range<Int>) -> [UInt8]? {
    var output: [UInt8] = []
    // Escapes only ever become shorter, so the array never grows out of its storage.
    output.reserveCapacity(range.count)
    var position = range.lowerBound
    while position < range.upperBound {
      let byte = bytes[position]
      position += 1
      guard byte == UInt8(ascii: "\\") else {
        output.append(byte)
        continue
      }
      let kind = bytes[position]
      position += 1
      switch kind {
      case UInt8(ascii: "b"): output.append(0x08)
      case UInt8(ascii: "f"): output.append(0x0C)
      case UInt8(ascii: "n"): output.append(0x0A)
      case UInt8(ascii: "r"): output.append(0x0D)
      case UInt8(ascii: "t"): output.append(0x09)
      case UInt8(ascii: "u"):
        guard let scalar = escapedScalar(bytes, &position, range.upperBound) else {
          wipe(&output)
          return nil
        }
        output.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      default: output.append(kind)
      }
    }
    if isProperUTF8(output) { return output }
    wipe(&output)
    return nil
  }

  /// For what is no secret.
  static func text(_ bytes: [UInt8], _ range: Range<Int>) -> String? {
    unescaped(bytes, range).map { String(decoding: $0, as: UTF8.self) }
  }

  /// `position` stands behind "\u"; a surrogate must be followed by its other half.
  private static func escapedScalar(
    _ bytes: [UInt8], _ position: inout Int, _ end: Int
  ) -> Unicode.Scalar? {
    func unit(at start: Int) -> UInt32? {
      guard start + 4 <= end else { return nil }
      return bytes[start..<start + 4].reduce(UInt32?(0)) { sum, byte in
        guard let sum, let digit = Cursor.hexDigit(byte) else { return nil }
        return sum << 4 | digit
      }
    }
    guard let first = unit(at: position) else { return nil }
    position += 4
    guard (0xD800...0xDBFF).contains(first) else { return Unicode.Scalar(first) }
    guard position + 2 <= end, bytes[position] == UInt8(ascii: "\\"),
      bytes[position + 1] == UInt8(ascii: "u"), let second = unit(at: position + 2),
      (0xDC00...0xDFFF).contains(second)
    else { return nil }
    position += 6
    return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
  }

  private static func isProperUTF8(_ bytes: [UInt8]) -> Bool {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue: continue
      case .emptyInput: return true
      case .error: return false
      }
    }
  }
}

/// A place in JSON text.
private struct Cursor {
  /// Containers inside one another; more than any answer has.
  private static let maxDepth = 64

  let bytes: [UInt8]
  var position: Int

  var isAtEnd: Bool { position == bytes.count }
  private var next: UInt8? { isAtEnd ? nil : bytes[position] }

  mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
      position += 1
    }
  }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard let byte = next, byte == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  static func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case 0x30...0x39: UInt32(byte) - 0x30
    case 0x41...0x46: UInt32(byte) - 0x37
    case 0x61...0x66: UInt32(byte) - 0x57
    default: nil
    }
  }

  /// What stands between two quotation marks.
  mutating func string() -> Range<Int>? {
    guard take("\"") else { return nil }
    let start = position
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return start..<position - 1
      case UInt8(ascii: "\\"):
        guard let kind = next, "\"\\/bfnrtu".utf8.contains(kind) else { return nil }
        position += 1
      case 0..<0x20: return nil
      default: continue
      }
    }
    return nil
  }

  mutating func value(depth: Int) -> JSONMembers.Value? {
    skipSpace()
    switch next {
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "{"), UInt8(ascii: "["): return container(depth: depth) ? .nested : nil
    case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
    case UInt8(ascii: "n"): return word("null") ? .null : nil
    default: return number().map { .number($0) }
    }
  }

  private mutating func word(_ word: String) -> Bool {
    guard bytes[position...].starts(with: word.utf8) else { return false }
    position += word.utf8.count
    return true
  }

  private mutating func container(depth: Int) -> Bool {
    guard depth <= Cursor.maxDepth else { return false }
    let isObject = next == UInt8(ascii: "{")
    let end: Unicode.Scalar = isObject ? "}" : "]"
    position += 1
    skipSpace()
    if take(end) { return true }
    repeat {
      skipSpace()
      if isObject {
        guard string() != nil else { return false }
        skipSpace()
        guard take(":") else { return false }
      }
      guard value(depth: depth + 1) != nil else { return false }
      skipSpace()
    } while take(",")
    return take(end)
  }

  private mutating func number() -> Range<Int>? {
    let start = position
    _ = take("-")
    if !take("0") { guard digits() else { return nil } }
    if take(".") { guard digits() else { return nil } }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      guard digits() else { return nil }
    }
    return start..<position
  }

  private mutating func digits() -> Bool {
    let start = position
    while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
    return position > start
  }
}
