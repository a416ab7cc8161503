import Glibc
import Platform
import Secrets
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
    _ configuration: StoreConfiguration, recoveryKeyFile: String? = nil
  ) throws(StoreOpenError) -> Report {
    var warnings: [String] = []
    let directory = try openDirectory(configuration, &warnings)
    let lock = try SQLiteSessionStore.takeLock(directory)
    let source = KeySource.inForce(configuration, in: directory.path)
    let old = try openWithAny(directory, configuration, recoveryKeyFile, &warnings)
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

  /// Makes a further key, to be kept elsewhere, and writes it to a new file as text. It opens the
  /// store for ``rekey(_:recoveryKeyFile:)``, should the master key be lost, and for nothing else.
  /// Returns warnings.
  package static func addRecoveryKey(
    _ configuration: StoreConfiguration, to path: String
  ) throws(StoreOpenError) -> [String] {
    var warnings: [String] = []
    let directory = try openDirectory(configuration, &warnings)
    let lock = try SQLiteSessionStore.takeLock(directory)
    var keyring = try openWithAny(directory, configuration, nil, &warnings)
    let key = try Keyring.memory { () throws(SecretError) in try RecoveryKey.random() }
    let slot = try Keyring.memory { () throws(SecretError) in
      try Keyring.slot(Keyring.recoveryLabel, keyring.volume, key, configuration.clock())
    }
    keyring.stored.slots.append(slot)
    // The file first: a key that nobody has must not open the store.
    try KeyMaterial.write(key, to: path)
    do throws(StoreOpenError) {
      try replaceKeyring(keyring, in: directory)
    } catch {
      unlink(path)
      throw error
    }
    _ = consume lock
    return warnings
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
    _ recoveryKeyFile: String?, _ warnings: inout [String]
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
    if let recoveryKeyFile {
      let key = try RecoveryKey.read(recoveryKeyFile, warnings: &warnings)
      if let keyring = try Keyring.open(stored, with: key) { return keyring }
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
