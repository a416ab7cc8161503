import Secrets
import Session

/// A file that holds one key, sealed with the volume key: destroying it destroys all that the key
/// has sealed, wherever copies of that may be. The head is open, so that a logout can tell an old
/// session's key from a newer one's without any other key or database.
struct SealedKeyFile {
  enum Purpose: String {
    case session = "BLSK"
    case outbox = "BLOK"
  }

  static let byteCount = 4 + 1 + 8 + 16 + SealingKey.byteCount + SealingKey.overhead

  var purpose: Purpose
  var generation: Generation
  var id: SessionID
  private var sealed: [UInt8]

  init(
    _ purpose: Purpose, generation: Generation, id: SessionID, key: borrowing SealingKey,
    under volume: borrowing SealingKey
  ) {
    self.purpose = purpose
    self.generation = generation
    self.id = id
    let head = Self.head(purpose, generation, id)
    sealed = key.withBytes { volume.seal($0, for: head) }
  }

  /// Nil where the bytes are not such a file.
  init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount,
      let purpose = Purpose(rawValue: String(decoding: bytes[0..<4], as: UTF8.self)),
      bytes[4] == 1, let id = SessionID(bytes: Array(bytes[13..<29]))
    else { return nil }
    self.purpose = purpose
    generation = Generation(bytes[5..<13].reduce(0) { $0 << 8 | UInt64($1) })
    self.id = id
    sealed = Array(bytes[29...])
  }

  var bytes: [UInt8] { Self.head(purpose, generation, id) + sealed }

  /// Nil where the volume key does not open it.
  func open(with volume: borrowing SealingKey) -> SealingKey? {
    guard let key = try? volume.open(sealed, for: Self.head(purpose, generation, id)) else {
      return nil
    }
    return SealingKey(key)
  }

  private static func head(_ purpose: Purpose, _ generation: Generation, _ id: SessionID) -> [UInt8]
  {
    Array(purpose.rawValue.utf8) + [1] + generation.number.bigEndianBytes + id.bytes
  }
}

extension FixedWidthInteger {
  var bigEndianBytes: [UInt8] {
    withUnsafeBytes(of: bigEndian) { Array($0) }
  }
}
