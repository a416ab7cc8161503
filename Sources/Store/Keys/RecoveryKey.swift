import Secrets

/// A recovery key as people keep it: a line of text, eight groups of eight hexadecimal digits. Case,
/// spaces and line ends are a copyist's own affair; the key is the text in its one canonical form.
enum RecoveryKey {
  private static let byteCount = 32
  /// The digits, and a dash between the groups.
  private static let textCount = 2 * byteCount + byteCount / 4 - 1

  static func random() throws(SecretError) -> Secret {
    try text(of: try Secret.random(count: byteCount))
  }

  /// The key that a file holds, however it was copied.
  static func read(_ path: String, warnings: inout [String]) throws(StoreOpenError) -> Secret {
    guard let copied = try KeyMaterial.read(.file(path: path), warnings: &warnings) else {
      throw .keyMissing("there is no file \(path) with a recovery key")
    }
    var count = 0
    let key = try Keyring.memory { () throws(SecretError) -> Secret in
      let bytes = try Secret(count: byteCount) { output in
        copied.withBytes { count = digits($0, into: output) }
      }
      return try text(of: bytes)
    }
    guard count == 2 * byteCount else {
      throw .keyWrong(
        "\(path) holds no recovery key, which is \(2 * byteCount) hexadecimal digits: copy it again"
      )
    }
    return key
  }

  /// Half-bytes into bytes; returns how many there were, -1 where something else stands among them.
  private static func digits(
    _ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) -> Int {
    var count = 0
    for character in text {
      let digit: UInt8
      switch character {
      case 0x30...0x39: digit = character - 0x30
      case 0x41...0x46: digit = character - 0x41 + 10
      case 0x61...0x66: digit = character - 0x61 + 10
      case UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"): continue
      default: return -1
      }
      if count < 2 * output.count {
        let half = count.isMultiple(of: 2) ? digit << 4 : output[count / 2] | digit
        output[count / 2] = half
      }
      count += 1
    }
    return count
  }

  private static func text(of bytes: borrowing Secret) throws(SecretError) -> Secret {
    try Secret(count: textCount) { output in
      bytes.withBytes { write($0, into: output) }
    }
  }

  private static func write(
    _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) {
    let digits = Array("0123456789abcdef".utf8)
    var offset = 0
    for (index, byte) in bytes.enumerated() {
      if index > 0, index.isMultiple(of: 4) {
        output[offset] = UInt8(ascii: "-")
        offset += 1
      }
      output[offset] = digits[Int(byte >> 4)]
      output[offset + 1] = digits[Int(byte & 15)]
      offset += 2
    }
  }
}
