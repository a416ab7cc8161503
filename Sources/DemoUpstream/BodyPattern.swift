/// A body that is made while it is sent.
enum BodyPattern: Sendable {
  case text
  case gzip

  func byte(at position: Int, of count: Int) -> UInt8 {
    switch self {
    case .text: position % 64 == 63 ? 0x0A : UInt8(0x61 + position % 26)
    case .gzip: GzipBomb.byte(at: position, of: count)
    }
  }
}

/// A gzip stream of zeros, made by hand (RFC 1952, RFC 1951 section 3.2.6): one block of fixed
/// codes with a literal zero, then "258 bytes from one byte back" over and over. Such a match is
/// thirteen bits, so the stream repeats after thirteen bytes.
enum GzipBomb {
  private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
  private static let bytesPerPeriod = 8 * 258

  /// The first bits: last block (1), fixed codes (01), the literal 0 (00110000).
  private static let opening: [UInt8] = bits("1" + "10" + "00110000")
  /// Length 258 is code 285, 11000101; distance 1 is code 0, 00000.
  private static let match: [UInt8] = bits("11000101" + "00000")
  /// End of block: code 256, 0000000.
  private static let closing: [UInt8] = bits("0000000")

  static func byteCount(unpacked: Int) -> Int {
    let matches = max(1, (unpacked + bytesPerPeriod - 1) / bytesPerPeriod) * 8
    let bitCount = opening.count + matches * match.count + closing.count
    return header.count + (bitCount + 7) / 8 + 8
  }

  static func byte(at position: Int, of count: Int) -> UInt8 {
    if position < header.count { return header[position] }
    let deflated = count - header.count - 8
    if position - header.count >= deflated { return 0 }
    let matchBits = ((deflated * 8 - opening.count - closing.count) / match.count) * match.count
    var value: UInt8 = 0
    for offset in 0..<8 {
      let index = (position - header.count) * 8 + offset - opening.count
      let bit =
        if index < 0 {
          opening[index + opening.count]
        } else if index < matchBits {
          match[index % match.count]
        } else {
          UInt8(0)
        }
      value |= bit << UInt8(offset)
    }
    return value
  }

  private static func bits(_ text: String) -> [UInt8] { text.utf8.map { $0 - 0x30 } }
}
