import Platform
import Secrets
import Session

/// The sessions' own files in the state directory: their keys, and what else is named after them.
struct SessionKeys {
  let directory: StateDirectory

  /// Makes a session's key file; durable when it returns.
  func write(
    _ key: borrowing SealingKey, for session: SessionID, _ generation: Generation,
    under volume: borrowing SealingKey
  ) throws(DirectoryError) {
    let file = SealedKeyFile(.session, generation: generation, id: session, key: key, under: volume)
    // One of the same name is what an install left that failed.
    try directory.remove(FileName.sessionKey(session))
    try directory.create(FileName.sessionKey(session), file.bytes)
  }

  enum Found: ~Copyable {
    case key(SealingKey)
    case missing
    /// There, but not what was written: it opens nothing, as if it were gone.
    case damaged
  }

  func read(
    _ session: SessionID, under volume: borrowing SealingKey
  ) throws(DirectoryError) -> Found {
    let name = FileName.sessionKey(session)
    var bytes: [UInt8]?
    do throws(DirectoryError) {
      bytes = try directory.read(name, limit: SealedKeyFile.byteCount)
    } catch .tooLarge {
      return .damaged
    } catch .notAFile {
      return .damaged
    }
    guard let bytes else { return .missing }
    guard let file = SealedKeyFile(bytes: bytes), file.purpose == .session, file.id == session,
      let key = file.open(with: volume)
    else { return .damaged }
    return .key(key)
  }

  /// Destroys the keys of every session below `generation`, and unreadable ones; the directory is
  /// synced when it returns. Needs neither database nor space: this is what makes a logout final.
  ///
  /// The emptied file keeps standing under a name that tells the generation, until the rows are
  /// gone as well: a restart before that must not count from an older one.
  func destroy(below generation: Generation) throws(DirectoryError) {
    for name in try directory.names() {
      guard let owner = FileName.owner(of: name),
        name.hasSuffix(".key") || name.hasSuffix(".key.new")
      else { continue }
      let file = try? directory.read(name, limit: SealedKeyFile.byteCount).flatMap(
        SealedKeyFile.init(bytes:))
      if let file, file.generation >= generation { continue }
      try directory.retire(name, to: FileName.goneKey(owner, generation))
    }
  }

  /// The generation that the logout of a session moved to, where its emptied key file tells.
  func generationOfLogout(of session: SessionID) -> Generation? {
    let names = (try? directory.names()) ?? []
    return names.compactMap { FileName.generation(ofGone: $0, session) }.max()
  }

  /// Destroys every session's files but those of `session`.
  func destroyAll(but session: SessionID?) throws(DirectoryError) {
    for name in try directory.names() {
      guard let owner = FileName.owner(of: name), owner != session else { continue }
      try directory.destroy(name)
    }
  }
}
