import Glibc
import Platform
package import Session

/// What can be read of a store without its daemon and without its key: all that is not sealed. For
/// a copy that somebody sends in, or a daemon that does not start.
package struct OfflineStore: Sendable {
  package var schemaVersion: Int
  package var generation: Generation
  package var facts: SessionFacts?
  package var signedOutReason: String?
  package var intent: RefreshIntent?
  package var backoff: BackoffRecord?
  /// Whether the session's key file is there; without it the row is a logout half done.
  package var hasSessionKey: Bool
  /// A rescued pair is newer than the row.
  package var hasRescuedPair: Bool
  package var pendingRevocations: Int
  package var cachedTips: Int
  /// Newest first.
  package var events: [EventRecord]
  package var integrity: String
  package var files: [File]

  package struct File: Equatable, Sendable {
    package var name: String
    package var sizeBytes: Int
  }

  /// Reads copies of the databases, made in a private directory for the length of the call: opening
  /// the files themselves could change them.
  package static func read(_ directory: String) throws(StoreOpenError) -> OfflineStore {
    let files = try list(directory)
    guard files.contains(where: { $0.name == FileName.session }) else {
      throw .unusable("there is no \(FileName.session) in \(directory)")
    }
    let scratch = try ScratchCopy.make(of: directory)
    do throws(SQLiteError) {
      return try read(scratch, files)
    } catch {
      throw .unusable("\(directory): \(error.description)")
    }
  }

  private static func read(
    _ scratch: borrowing ScratchCopy, _ files: [File]
  ) throws(SQLiteError) -> OfflineStore {
    let database = try Database(path: scratch.path + "/" + FileName.session, options: .init())
    let version = try database.schemaVersion(.session)
    // The copy, so that one from before is read like any other.
    if version > 0, version < Schema.session.version {
      try database.migrate(.session, from: version)
    }
    let integrity = try database.integrity()
    let state = try database.storeState()
    let row = try database.sessionRow()
    let names = Set(files.map(\.name))
    return OfflineStore(
      schemaVersion: version, generation: state.generation,
      facts: row.flatMap { StoredFacts.decode($0.record.facts) },
      signedOutReason: state.signedOutReason, intent: try database.intent(),
      backoff: try database.backoff(),
      hasSessionKey: row.map { names.contains(FileName.sessionKey($0.session)) } ?? false,
      hasRescuedPair: row.map { scratch.holdsSomething(FileName.rescueSlot($0.session)) } ?? false,
      pendingRevocations: try database.revocationCount(), cachedTips: tipCount(scratch),
      events: try database.newestEvents(limit: 1000), integrity: integrity.description, files: files
    )
  }

  /// A tip store that cannot be read has no tips to show.
  private static func tipCount(_ scratch: borrowing ScratchCopy) -> Int {
    let path = scratch.path + "/" + FileName.tips
    return (try? Database(path: path, options: .init()).tipCount()) ?? 0
  }

  private static func list(_ directory: String) throws(StoreOpenError) -> [File] {
    guard let stream = opendir(directory) else {
      throw .unusable(SystemError.last("open \(directory)").description)
    }
    defer { closedir(stream) }
    var files: [File] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { place in
        place.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      var status = stat()
      guard lstat(directory + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        continue
      }
      files.append(File(name: name, sizeBytes: Int(status.st_size)))
    }
    return files.sorted { $0.name < $1.name }
  }
}

/// A private directory with copies of the databases and the rescue slots; gone with the value.
private struct ScratchCopy: ~Copyable {
  let path: String
  private let source: String

  private init(path: String, source: String) {
    self.path = path
    self.source = source
  }

  static func make(of directory: String) throws(StoreOpenError) -> ScratchCopy {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let path: String
    do throws(SystemError) {
      path = try TemporaryDirectory.make(in: parent, prefix: "brewlog-")
    } catch {
      throw .unusable(error.description)
    }
    let scratch = ScratchCopy(path: path, source: directory)
    for name in names {
      do throws(SystemError) {
        try copy(directory + "/" + name, to: scratch.path + "/" + name)
      } catch {
        if error.code != ENOENT { throw .unusable(error.description) }
      }
    }
    return scratch
  }

  deinit {
    Self.remove(path)
  }

  /// Looked at in its own place: it is no database.
  borrowing func holdsSomething(_ name: String) -> Bool {
    let raw = open(source + "/" + name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard raw >= 0 else { return false }
    let file = FileDescriptor(owning: raw)
    var head: UInt32 = 0
    return Glibc.read(file.rawValue, &head, 4) == 4 && head != 0
  }

  private static let names = [FileName.session, FileName.tips].flatMap { [$0, $0 + "-wal"] }

  private static func remove(_ path: String) {
    for name in names + [FileName.session, FileName.tips].map({ $0 + "-shm" }) {
      unlink(path + "/" + name)
    }
    rmdir(path)
  }

  private static func copy(_ from: String, to: String) throws(SystemError) {
    let input = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard input >= 0 else { throw .last("open \(from)") }
    let source = FileDescriptor(owning: input)
    let output = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw .last("create \(to)") }
    let target = FileDescriptor(owning: output)
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(source.rawValue, &chunk, chunk.count)
      if count == 0 { return }
      guard count > 0, write(target.rawValue, chunk, count) == count else {
        throw .last("copy \(from)")
      }
    }
  }
}
