import Platform
import Secrets

extension SQLiteSessionStore {
  /// Opens the store, at start and before the loop runs: the directory, its lock, the keys, then
  /// both databases. Blocks; nothing else uses the store meanwhile. From then on it runs on `executor`,
  /// or on a thread of its own.
  package static func open(
    _ configuration: StoreConfiguration, on executor: (any SerialExecutor)? = nil
  ) throws(StoreOpenError) -> OpenedStore {
    var warnings: [String] = []
    let directory: StateDirectory
    do throws(DirectoryError) {
      directory = try StateDirectory(at: configuration.directory, warnings: &warnings)
    } catch {
      throw StoreOpenError(error)
    }
    let lock = try takeLock(directory)
    let source = KeySource.inForce(configuration, in: directory.path)
    let keyring = try openKeyring(directory, source, configuration, &warnings)
    let fingerprinter = keyring.fingerprinter
    try removeLeftovers(directory, source)
    let parts = StoreParts(
      configuration: configuration, directory: directory, lock: lock, keyring: keyring,
      keySource: source)
    try parts.openTips(warnings: &warnings)
    try parts.openSession(warnings: &warnings)
    let store = SQLiteSessionStore(
      parts: parts, thread: StoreThread(executor), fingerprinter: fingerprinter)
    return OpenedStore(
      sessions: store, tips: SQLiteTipStore(store: store), warnings: warnings)
  }

  /// What a crash has left of files that were being made or replaced: with the keyring open, none
  /// of them is needed.
  private static func removeLeftovers(
    _ directory: StateDirectory, _ source: KeySource
  ) throws(StoreOpenError) {
    do throws(DirectoryError) {
      for name in try directory.names() where FileName.isLeftover(name) {
        try directory.destroy(name)
      }
    } catch {
      throw StoreOpenError(error)
    }
    if case .file(let path) = source { KeyMaterial.removeSuccessor(of: path) }
  }

  static func takeLock(_ directory: StateDirectory) throws(StoreOpenError) -> LockFile {
    let attempt: LockFile.Attempt
    do throws(DirectoryError) {
      attempt = try directory.lock(FileName.lock)
    } catch {
      throw StoreOpenError(error)
    }
    switch consume attempt {
    case .held(let lock): return lock
    case .refused(let pid): throw .heldByAnother(path: directory.path, pid: pid)
    }
  }

  /// The keyring, opened with the key that is in force. A key, and a keyring, are made only where
  /// there is no session store that they could lock out.
  static func openKeyring(
    _ directory: StateDirectory, _ source: KeySource, _ configuration: StoreConfiguration,
    _ warnings: inout [String]
  ) throws(StoreOpenError) -> Keyring {
    let hasStore = directory.exists(FileName.session)
    var material = try KeyMaterial.read(source, warnings: &warnings)
    if material == nil, let stored = try? directory.read(FileName.keyring, limit: 1 << 16),
      let keyring = try openWithSuccessor(stored, source, &warnings)
    {
      return try settled(keyring, in: directory)
    }
    if material == nil {
      guard !hasStore else {
        throw .keyMissing(
          "the store in \(directory.path) needs its master key, and there is none at "
            + "\(source.path): restore it, or move the directory's files away and sign in again")
      }
      material = try KeyMaterial.makeFirst(at: source.path)
    }
    guard let material = material.take() else {
      throw .keyMissing("there is no master key at \(source.path)")
    }
    let stored: [UInt8]?
    do throws(DirectoryError) {
      stored = try directory.read(FileName.keyring, limit: 1 << 16)
    } catch {
      throw StoreOpenError(error)
    }
    if let stored, let keyring = try Keyring.open(stored, with: material) {
      return try settled(keyring, in: directory)
    }
    if let stored, let keyring = try openWithSuccessor(stored, source, &warnings) {
      return try settled(keyring, in: directory)
    }
    guard !hasStore else {
      throw .keyWrong(
        stored == nil
          ? "the store in \(directory.path) has lost its file \(FileName.keyring): restore it, or "
            + "move the directory's files away and sign in again"
          : "\(source.description) does not open the store in \(directory.path): give the key that "
            + "it was made with, or move the directory's files away and sign in again")
    }
    let keyring = try Keyring.make(for: material, at: configuration.clock())
    do throws(DirectoryError) {
      try directory.replace(FileName.keyring, keyring.encoded)
    } catch {
      throw StoreOpenError(error)
    }
    return keyring
  }

  /// A rekey that was cut short before the new key file took the old one's place.
  private static func openWithSuccessor(
    _ stored: [UInt8], _ source: KeySource, _ warnings: inout [String]
  ) throws(StoreOpenError) -> Keyring? {
    guard case .file(let path) = source,
      let material = try KeyMaterial.read(
        .file(path: path + KeyMaterial.successor), warnings: &warnings),
      let keyring = try Keyring.open(stored, with: material)
    else { return nil }
    try KeyMaterial.promote(path)
    return keyring
  }

  private static func settled(
    _ keyring: consuming Keyring, in directory: StateDirectory
  ) throws(StoreOpenError) -> Keyring {
    guard keyring.stored.previous != nil else { return keyring }
    try StoreKeys.finish(keyring, in: directory)
    keyring.stored.previous = nil
    return keyring
  }
}
