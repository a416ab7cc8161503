import Secrets

/// `application/x-www-form-urlencoded` (RFC 6749 appendix B), written into one piece of memory, so
/// that wiping it leaves nothing behind.
struct FormBody: ~Copyable {
  private(set) var bytes: [UInt8] = []

  /// `capacity` bounds the length of all values together; one past it would leave a copy behind.
  init(capacity: Int) {
    bytes.reserveCapacity(3 * capacity + 512)
  }

  mutating func append(_ name: String, _ value: String) {
    begin(name)
    for byte in value.utf8 { FormBody.escape(byte, into: &bytes) }
  }

  mutating func append(_ name: String, _ value: borrowing Secret) {
    begin(name)
    value.withBytes { plain in
      for byte in plain { FormBody.escape(byte, into: &bytes) }
    }
  }

  consuming func take() -> [UInt8] {
    bytes
  }

  private mutating func begin(_ name: String) {
    if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
    for byte in name.utf8 { FormBody.escape(byte, into: &bytes) }
    bytes.append(UInt8(ascii: "="))
  }

  static func escape(_ byte: UInt8, into output: inout [UInt8]) {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "*"):
      output.append(byte)
    case 0x20: output.append(UInt8(ascii: "+"))
    default:
      let digits = Array("0123456789ABCDEF".utf8)
      output.append(UInt8(ascii: "%"))
      output.append(digits[Int(byte >> 4)])
      output.append(digits[Int(byte & 15)])
    }
  }
}

/// `{"name": "secret"}`, written into one piece of memory.
enum SecretJSON {
  static func object(_ name: String, _ value: borrowing Secret) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(6 * value.count + name.utf8.count + 16)
    bytes.append(contentsOf: "{\"\(name)\":\"".utf8)
    value.withBytes { plain in
      for byte in plain {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
          bytes.append(UInt8(ascii: "\\"))
          bytes.append(byte)
        case 0..<0x20, 0x7F:
          bytes.append(contentsOf: "\\u00".utf8)
          let digits = Array("0123456789abcdef".utf8)
          bytes.append(digits[Int(byte >> 4)])
          bytes.append(digits[Int(byte & 15)])
        default: bytes.append(byte)
        }
      }
    }
    bytes.append(contentsOf: "\"}".utf8)
    return bytes
  }
}
