import Platform
package import Secrets
import Session

/// Changes which keys open a store. The daemon must not be running: the directory's lock is taken.
package enum StoreKeys {
  /// What a rekey did.
  package struct Report: Equatable, Sendable {
    /// What opens the store from now on.
    package var source: String
    /// Recovery keys that no longer open it: make new ones.
    package var revokedRecoveryKeys: Int
    package var warnings: [String]
  }

  /// Gives the store a new master key and a new store key, and seals all other keys anew. The old
  /// master key, and any copy of the old `keyring`, opens nothing of the new files.
  ///
  /// Where a credential is given, it becomes the master key: the key file, or the recovery key,
  /// has to open the store this once. Else a new key file takes the old one's place. A crash at any
  /// point leaves a store that opens with the old key or the new one; the next start finishes.
  package static func rekey(
    _ configuration: StoreConfiguration, recoveryKey: consuming Secret? = nil
  ) throws(StoreOpenError) -> Report {
    var warnings: [String] = []
    let directory = try openDirectory(configuration, &warnings)
    let lock = try SQLiteSessionStore.takeLock(directory)
    let source = KeySource.inForce(configuration, in: directory.path)
    let old = try openWithAny(directory, configuration, recoveryKey, &warnings)
    let fresh = try freshMaterial(source, &warnings)
    let revoked = old.stored.slots.filter { $0.label == Keyring.recoveryLabel }.count
    let keyring = try Keyring.successor(of: old, for: fresh, at: configuration.clock())
    try replaceKeyring(keyring, in: directory)
    if case .file(let path) = source { try KeyMaterial.promote(path) }
    try finish(keyring, in: directory)
    _ = consume lock
    return Report(
      source: source.description, revokedRecoveryKeys: revoked, warnings: warnings)
  }

  /// A further key, to be kept elsewhere, as text for a person: hexadecimal digits in groups.
  package static func addRecoveryKey(
    _ configuration: StoreConfiguration
  ) throws(StoreOpenError) -> Secret {
    var warnings: [String] = []
    let directory = try openDirectory(configuration, &warnings)
    let lock = try SQLiteSessionStore.takeLock(directory)
    var keyring = try openWithAny(directory, configuration, nil, &warnings)
    let text = try Keyring.memory { () throws(SecretError) in
      let random = try Secret.random(count: 32)
      return try Secret(count: 71) { output in
        random.withBytes { bytes in RecoveryText.write(bytes, into: output) }
      }
    }
    let slot = try Keyring.memory { () throws(SecretError) in
      try Keyring.slot(Keyring.recoveryLabel, keyring.volume, text, configuration.clock())
    }
    keyring.stored.slots.append(slot)
    try replaceKeyring(keyring, in: directory)
    _ = consume lock
    return text
  }

  /// Seals anew what a rekey that was cut short has left, and forgets the old store key.
  static func finish(_ keyring: borrowing Keyring, in directory: StateDirectory)
    throws(StoreOpenError)
  {
    guard let previous = keyring.previous else { return }
    do throws(DirectoryError) {
      for name in try directory.names()
      where name == FileName.outboxKey
        || (FileName.owner(of: name) != nil && name.hasSuffix(".key"))
      {
        guard let bytes = try directory.read(name, limit: SealedKeyFile.byteCount),
          let file = SealedKeyFile(bytes: bytes), let key = file.open(with: previous)
        else { continue }
        let renewed = SealedKeyFile(
          file.purpose, generation: file.generation, id: file.id, key: key, under: keyring.volume)
        try directory.replace(name, renewed.bytes)
      }
      var stored = keyring.stored
      stored.previous = nil
      try directory.replace(FileName.keyring, Keyring.encode(stored))
    } catch {
      throw StoreOpenError(error)
    }
  }

  private static func openDirectory(
    _ configuration: StoreConfiguration, _ warnings: inout [String]
  ) throws(StoreOpenError) -> StateDirectory {
    do throws(DirectoryError) {
      return try StateDirectory(at: configuration.directory, warnings: &warnings)
    } catch {
      throw StoreOpenError(error)
    }
  }

  /// Opened by the credential, the key file, or the recovery key.
  private static func openWithAny(
    _ directory: StateDirectory, _ configuration: StoreConfiguration,
    _ recoveryKey: consuming Secret?, _ warnings: inout [String]
  ) throws(StoreOpenError) -> Keyring {
    let stored: [UInt8]?
    do throws(DirectoryError) {
      stored = try directory.read(FileName.keyring, limit: 1 << 16)
    } catch {
      throw StoreOpenError(error)
    }
    guard let stored else {
      throw .keyMissing("there is no store in \(directory.path): start the daemon once")
    }
    for source in KeySource.all(configuration, in: directory.path) {
      guard let material = try KeyMaterial.read(source, warnings: &warnings) else { continue }
      if let keyring = try Keyring.open(stored, with: material) { return keyring }
    }
    if let recoveryKey = recoveryKey.take(),
      let keyring = try Keyring.open(stored, with: recoveryKey)
    {
      return keyring
    }
    throw .keyWrong("no key that was given opens the store in \(directory.path)")
  }

  private static func freshMaterial(
    _ source: KeySource, _ warnings: inout [String]
  ) throws(StoreOpenError) -> Secret {
    switch source {
    case .credential:
      guard let material = try KeyMaterial.read(source, warnings: &warnings) else {
        throw .keyMissing("the credential \(FileName.credential) has gone")
      }
      return material
    case .file(let path):
      return try KeyMaterial.make(at: path + KeyMaterial.successor, replacing: true)
    }
  }

  private static func replaceKeyring(
    _ keyring: borrowing Keyring, in directory: StateDirectory
  ) throws(StoreOpenError) {
    do throws(DirectoryError) {
      try directory.replace(FileName.keyring, keyring.encoded)
    } catch {
      throw StoreOpenError(error)
    }
  }
}

/// A recovery key as people copy it: eight groups of eight hexadecimal digits.
enum RecoveryText {
  static func write(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
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
