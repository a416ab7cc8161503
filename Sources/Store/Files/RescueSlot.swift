import Platform
import Secrets
import Session

/// A file of a session's own, made at sign-in with its blocks in place, for the one pair that the
/// database does not take although its refresh token has been spent (a disk that filled up between
/// intent and commit). Writing over it needs no space and no SQLite (I5).
///
/// All of it is sealed with the session's key, so a torn write opens nothing, and a logout ends it.
struct RescueSlot {
  /// Room for two tokens of any size that is seen; a longer pair makes its session a longer slot.
  static let leastSize = 64 << 10
  private static let magic = Array("BLR1".utf8)

  let directory: StateDirectory
  let session: SessionID

  struct Rescued {
    var serial: Int64
    var record: SealedRecord
  }

  private var name: String { FileName.rescueSlot(session) }

  /// Makes the empty slot, big enough for a pair twice as long as this one.
  func prepare(for record: SealedRecord) throws(DirectoryError) {
    let size = max(Self.leastSize, 2 * (record.facts.count + record.pair.count) + 256)
    try directory.remove(name)
    try directory.create(name, [UInt8](repeating: 0, count: size))
  }

  /// Durable when it returns.
  func write(_ rescued: Rescued, with key: borrowing SealingKey) throws(StoreError) {
    let record = rescued.record
    let plain =
      rescued.serial.bigEndianBytes + UInt32(clamping: record.facts.count).bigEndianBytes
      + record.facts + record.pair
    guard let secret = try? Secret(copying: plain) else {
      throw .failed("no locked memory for the rescue slot: raise LimitMEMLOCK=")
    }
    let sealed = key.seal(secret, for: Self.magic + session.bytes)
    let bytes = Self.magic + UInt32(clamping: sealed.count).bigEndianBytes + sealed
    guard bytes.count <= directory.size(of: name) else {
      throw .failed("\(name): too small for this pair")
    }
    try files { () throws(DirectoryError) in try directory.overwrite(name, bytes) }
  }

  /// Nil where it is empty, torn, or another key's.
  func read(with key: borrowing SealingKey) -> Rescued? {
    guard let bytes = try? directory.read(name, limit: 16 << 20), bytes.starts(with: Self.magic),
      bytes.count >= 8
    else { return nil }
    let count = bytes[4..<8].reduce(0) { $0 << 8 | Int($1) }
    guard bytes.count - 8 >= count,
      let plain = try? key.open(bytes[8..<8 + count], for: Self.magic + session.bytes)
    else { return nil }
    // Sealed once more inside, so nothing secret is copied here.
    let inner = plain.withBytes { Array($0) }
    guard inner.count >= 12 else { return nil }
    let serial = inner[0..<8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    let factCount = inner[8..<12].reduce(0) { $0 << 8 | Int($1) }
    guard inner.count - 12 >= factCount else { return nil }
    return Rescued(
      serial: serial,
      record: SealedRecord(
        facts: Array(inner[12..<12 + factCount]), pair: Array(inner[(12 + factCount)...])))
  }

  /// Empties it; its size stays.
  func clear() throws(DirectoryError) {
    guard let bytes = try directory.read(name, limit: 16 << 20), bytes.contains(where: { $0 != 0 })
    else { return }
    try directory.overwrite(name, [UInt8](repeating: 0, count: bytes.count))
  }
}
