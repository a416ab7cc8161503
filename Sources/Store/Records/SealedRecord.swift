import Secrets
import Session

/// A session's record as it goes to disk: the facts readable, the pair sealed as one, and bound to
/// the facts. Both tokens are replaced together or not at all (I9).
struct SealedRecord {
  var facts: [UInt8]
  var pair: [UInt8]

  /// Marks sealed pairs, so that one can be found wherever it may have been left.
  static let magic = Array("BLS1".utf8)
  static let headCount = 4 + 16

  /// Nil where no locked memory can be had.
  static func seal(_ record: borrowing SessionRecord, with key: borrowing SealingKey)
    -> SealedRecord?
  {
    let facts = StoredFacts.encode(record.facts)
    guard let plain = PairCodec.encode(record.pair) else { return nil }
    let sealed = key.seal(plain, for: associated(facts))
    return SealedRecord(facts: facts, pair: magic + record.facts.id.bytes + sealed)
  }

  /// Nil where the key, the facts or the sealed bytes do not belong together.
  func open(with key: borrowing SealingKey) -> SessionRecord? {
    guard let facts = StoredFacts.decode(facts), pair.starts(with: Self.magic + facts.id.bytes),
      let plain = try? key.open(pair.dropFirst(Self.headCount), for: Self.associated(self.facts)),
      let tokens = PairCodec.decode(plain)
    else { return nil }
    return SessionRecord(facts: facts, pair: tokens)
  }

  private static func associated(_ facts: [UInt8]) -> [UInt8] { Array("brewlog pair".utf8) + facts }
}

/// Two tokens as bytes: for each, whether there is one, its length, and itself. Written straight
/// into locked memory and read from there.
enum PairCodec {
  private static let absent = UInt32.max

  static func encode(_ pair: borrowing TokenPair) -> Secret? {
    let access = count(pair.access)
    let refresh = count(pair.refresh)
    return try? Secret(count: 8 + (access ?? 0) + (refresh ?? 0)) { memory in
      var offset = 0
      put(pair.access, into: memory, at: &offset)
      put(pair.refresh, into: memory, at: &offset)
    }
  }

  static func decode(_ plain: borrowing Secret) -> TokenPair? {
    plain.withBytes { bytes in
      var offset = 0
      var pair = TokenPair(access: nil, refresh: nil)
      guard take(from: bytes, at: &offset, into: &pair.access),
        take(from: bytes, at: &offset, into: &pair.refresh), offset == bytes.count
      else { return nil }
      return pair
    }
  }

  private static func count(_ token: borrowing Secret?) -> Int? {
    switch token {
    case .some(let token): token.count
    case .none: nil
    }
  }

  private static func put(
    _ token: borrowing Secret?, into memory: UnsafeMutableRawBufferPointer, at offset: inout Int
  ) {
    let length = count(token).map { UInt32(clamping: $0) } ?? absent
    memory.storeBytes(of: length.bigEndian, toByteOffset: offset, as: UInt32.self)
    offset += 4
    switch token {
    case .some(let token):
      token.withBytes { bytes in
        UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + bytes.count])
          .copyMemory(from: bytes)
        offset += bytes.count
      }
    case .none: break
    }
  }

  /// False where the bytes are not a pair.
  private static func take(
    from bytes: UnsafeRawBufferPointer, at offset: inout Int, into token: inout Secret?
  ) -> Bool {
    guard bytes.count - offset >= 4 else { return false }
    let length = UInt32(
      bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    offset += 4
    if length == absent { return true }
    guard bytes.count - offset >= Int(length) else { return false }
    token = try? Secret(
      copying: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(length)]))
    offset += Int(length)
    return token != nil
  }
}
