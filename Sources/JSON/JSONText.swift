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
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: some Sequence<UInt8>
  ) throws(JSONError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
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
