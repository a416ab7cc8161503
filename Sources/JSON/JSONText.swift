import FoundationEssentials

/// Bytes that are not the JSON that was expected. The text says where a reader stumbled, never
/// what stood there: a token answer is parsed by this, too.
package struct JSONError: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

/// The one way in and out of JSON text.
package enum JSONText {
  /// Takes UTF-8, with or without a byte order mark (RFC 8259 section 8.1), and no more containers
  /// inside one another than `maxDepth`.
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: some Sequence<UInt8>, maxDepth: Int = 64
  ) throws(JSONError) -> Value {
    let text = Array(bytes)
    let plain = text.dropFirst(text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    // None of these stands in UTF-8; the decoder would take the text for UTF-16 or UTF-32, which the
    // look at its nesting does not read.
    guard !plain.contains(where: { $0 == 0 || $0 >= 0xFE }) else { throw JSONError("not UTF-8") }
    guard !JSONNesting.exceeds(maxDepth, in: plain) else { throw JSONError("nested too deeply") }
    do {
      return try JSONDecoder().decode(type, from: Data(plain))
    } catch let error as DecodingError {
      throw JSONError(explain(error))
    } catch {
      throw JSONError("not JSON")
    }
  }

  /// Keys are sorted, so that equal values have equal bytes.
  package static func encode(_ value: some Encodable) throws(JSONError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return [UInt8](try encoder.encode(value))
    } catch {
      throw JSONError("a value that JSON cannot carry")
    }
  }

  private static func explain(_ error: DecodingError) -> String {
    func place(_ context: DecodingError.Context) -> String {
      let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
      return path.isEmpty ? "" : " at \(path.joined(separator: "."))"
    }
    switch error {
    case .keyNotFound(let key, let context): return "no \(key.stringValue)\(place(context))"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      return "a value of another type\(place(context))"
    case .dataCorrupted(let context): return "not valid JSON\(place(context))"
    @unknown default: return "not valid JSON"
    }
  }
}
