/// Looks over JSON text before a decoder that calls itself for every container does: a few kilobytes
/// of brackets would exhaust the stack of the thread that reads them.
enum JSONNesting {
  /// Whether brackets are nested deeper than `limit`. Text that is no JSON gets some answer, too;
  /// the decoder then refuses it.
  static func exceeds(_ limit: Int, in bytes: ArraySlice<UInt8>) -> Bool {
    var depth = 0
    var isString = false
    var isEscaped = false
    for byte in bytes {
      if isString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isString = true
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        if depth > limit { return true }
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
    return false
  }
}
