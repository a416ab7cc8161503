import Execution
import JSON
import Secrets

/// What one master key opens: the store's own random key (the volume key), under which all other
/// keys lie. So several master keys can open one store, and a new one needs no rewriting of records.
///
/// The file `keyring` holds the volume key once per slot, sealed, and the key of the fingerprints.
struct Keyring: ~Copyable {
  /// Who can open the store.
  struct Slot: Codable, Equatable {
    var label: String
    /// Milliseconds since 1970.
    var createdAt: Int64
    /// The volume key, sealed with this slot's master key; hexadecimal.
    var sealed: String
  }

  /// The file as it stands.
  struct Stored: Codable {
    var version: Int
    var slots: [Slot]
    /// The fingerprints' key, sealed with the volume key; hexadecimal.
    var fingerprint: String
    /// While a rekey is under way: the volume key before, sealed with the present one.
    var previous: String?
  }

  static let masterLabel = "master"
  static let recoveryLabel = "recovery"
  private static let version = 1

  var stored: Stored
  let volume: SealingKey
  let fingerprinter: TokenFingerprinter

  /// A new keyring with one slot.
  static func make(
    for material: borrowing Secret, at now: WallTime
  ) throws(StoreOpenError) -> Keyring {
    try memory { () throws(SecretError) in
      let volume = try SealingKey.random()
      let fingerprint = try Secret.random(count: 32)
      let stored = Stored(
        version: version,
        slots: [try slot(masterLabel, volume, material, now)],
        fingerprint: volume.seal(fingerprint, for: Array("fingerprint".utf8)).hex)
      return Keyring(
        stored: stored, volume: volume, fingerprinter: TokenFingerprinter(key: fingerprint))
    }
  }

  /// Nil where no slot opens with this key, or the file is damaged.
  static func open(
    _ bytes: [UInt8], with material: borrowing Secret
  ) throws(StoreOpenError) -> Keyring? {
    guard let stored = try? JSONText.decode(Stored.self, from: bytes), stored.version == version
    else { return nil }
    for slot in stored.slots {
      guard let sealed = [UInt8](hex: slot.sealed) else { continue }
      let master = try memory { () throws(SecretError) in
        try SealingKey(derivedFrom: material, purpose: "brewlog master key")
      }
      guard let opened = try? master.open(sealed, for: Array(slot.label.utf8)),
        let volume = SealingKey(opened),
        let sealedFingerprint = [UInt8](hex: stored.fingerprint),
        let fingerprint = try? volume.open(sealedFingerprint, for: Array("fingerprint".utf8))
      else { continue }
      return Keyring(
        stored: stored, volume: volume, fingerprinter: TokenFingerprinter(key: fingerprint))
    }
    return nil
  }

  /// The volume key sealed for one more master key.
  static func slot(
    _ label: String, _ volume: borrowing SealingKey, _ material: borrowing Secret, _ now: WallTime
  ) throws(SecretError) -> Slot {
    let master = try SealingKey(derivedFrom: material, purpose: "brewlog master key")
    let sealed = volume.withBytes { master.seal($0, for: Array(label.utf8)) }
    return Slot(label: label, createdAt: now.milliseconds, sealed: sealed.hex)
  }

  /// A keyring with a new volume key and one slot; the fingerprints stay as they are, and the old
  /// volume key stays known until all that it has sealed is sealed anew.
  static func successor(
    of old: borrowing Keyring, for material: borrowing Secret, at now: WallTime
  ) throws(StoreOpenError) -> Keyring {
    guard let sealed = [UInt8](hex: old.stored.fingerprint),
      let fingerprint = try? old.volume.open(sealed, for: Array("fingerprint".utf8))
    else { throw .keyWrong("the file \(FileName.keyring) is damaged: restore it") }
    let volume = try memory { () throws(SecretError) in try SealingKey.random() }
    let only = try memory { () throws(SecretError) -> Slot in
      try slot(masterLabel, volume, material, now)
    }
    let stored = Stored(
      version: version, slots: [only],
      fingerprint: volume.seal(fingerprint, for: Array("fingerprint".utf8)).hex,
      previous: old.volume.withBytes { volume.seal($0, for: Array("previous".utf8)).hex })
    return Keyring(
      stored: stored, volume: volume, fingerprinter: TokenFingerprinter(key: fingerprint))
  }

  /// The volume key before the present one, while a rekey is under way.
  var previous: SealingKey? {
    guard let text = stored.previous, let sealed = [UInt8](hex: text),
      let key = try? volume.open(sealed, for: Array("previous".utf8))
    else { return nil }
    return SealingKey(key)
  }

  var encoded: [UInt8] { Self.encode(stored) }

  static func encode(_ stored: Stored) -> [UInt8] {
    // Strings and numbers only: cannot fail.
    (try? JSONText.encode(stored)) ?? []
  }

  static func memory<Value: ~Copyable>(
    _ body: () throws(SecretError) -> Value
  ) throws(StoreOpenError) -> Value {
    do throws(SecretError) {
      return try body()
    } catch {
      throw .unusable("no locked memory for keys: raise LimitMEMLOCK=")
    }
  }
}
