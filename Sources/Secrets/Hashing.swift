import CSodium

/// Keyed BLAKE2b (RFC 7693), written straight into the caller's memory.
enum BLAKE2b {
  static func hash(
    key: UnsafeRawBufferPointer, _ message: UnsafeRawBufferPointer,
    into output: UnsafeMutableRawBufferPointer
  ) {
    guard let outputStart = output.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
    _ = crypto_generichash(
      outputStart, output.count,
      message.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(message.count),
      key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count)
  }
}

extension [UInt8] {
  /// Lower-case hexadecimal digits.
  package var hex: String {
    let digits = Array<Character>("0123456789abcdef")
    var text = ""
    text.reserveCapacity(count * 2)
    for byte in self {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return text
  }

  /// Nil unless `hex` is an even number of hexadecimal digits.
  package init?(hex: some StringProtocol) {
    let digits = hex.utf8.map { digit -> UInt8? in
      switch digit {
      case 0x30...0x39: digit - 0x30
      case 0x61...0x66: digit - 0x61 + 10
      case 0x41...0x46: digit - 0x41 + 10
      default: nil
      }
    }
    guard digits.count.isMultiple(of: 2) else { return nil }
    self = []
    reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      append(high << 4 | low)
    }
  }
}

/// HMAC-SHA-256 (RFC 2104), for an id of this machine that does not give the machine's own id away.
package enum HMACSHA256 {
  package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var state = crypto_auth_hmacsha256_state()
    var output = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
    guard sodium_init() >= 0 else { return output }
    crypto_auth_hmacsha256_init(&state, key, key.count)
    crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
    crypto_auth_hmacsha256_final(&state, &output)
    return output
  }
}
