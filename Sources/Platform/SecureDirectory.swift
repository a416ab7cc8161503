import Glibc

/// Why a directory for secrets, or a file in it, is not touched.
package enum DirectoryError: Error, Equatable, Sendable, CustomStringConvertible {
  case missing(path: String)
  /// A link has the name; following it could lead into anybody's files.
  case isLink(path: String)
  case notADirectory(path: String)
  case notAFile(path: String)
  case wrongOwner(path: String, owner: UInt32, expected: UInt32)
  case tooLarge(path: String, limit: Int)
  case system(SystemError)

  package var description: String {
    switch self {
    case .missing(let path):
      "\(path) does not exist: create the directory above it, or let systemd do so (StateDirectory=)"
    case .isLink(let path):
      "\(path) is a symbolic link, and links are not followed here: name the place that it leads to"
    case .notADirectory(let path):
      "\(path) is not a directory: move it away, or choose another place"
    case .notAFile(let path):
      "\(path) is not a regular file: move it away"
    case .wrongOwner(let path, let owner, let expected):
      "\(path) belongs to user \(owner), not to the running user \(expected): give it to that user, "
        + "or choose another place"
    case .tooLarge(let path, let limit):
      "\(path) is larger than the \(limit) bytes that it may have"
    case .system(let error):
      error.description
    }
  }
}

/// A mode that gave others access and was narrowed: worth a warning, since somebody may have looked.
package struct NarrowedMode: Equatable, Sendable, CustomStringConvertible {
  package let path: String
  package let before: UInt32
  package let after: UInt32

  package init(path: String, before: UInt32, after: UInt32) {
    self.path = path
    self.before = before
    self.after = after
  }

  package var description: String {
    "\(path) had mode \(String(before, radix: 8)), open to others; it is now "
      + String(after, radix: 8)
  }
}

/// A directory of the running user's own, held open so that its files are reached through the
/// descriptor: what is done to its path meanwhile (a link, another directory) leads nowhere.
///
/// Opening checks that the last part of the path is no link, a directory, the effective user's, and
/// closed to others (mode 0700; a wider one is narrowed). Files are made 0600 and never through a
/// link. Guards I10; the syncs here are what I9 stands on outside the databases.
package struct SecureDirectory: ~Copyable, Sendable {
  package let path: String
  /// Set if the mode was too wide.
  package let narrowed: NarrowedMode?
  private let directory: FileDescriptor

  /// Opens the directory; `creating` makes it, 0700, if it is missing (not those above it).
  package init(at path: String, creating: Bool = true) throws(DirectoryError) {
    if creating { try SecureDirectory.make(path) }
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let raw = retryingInterrupts { Glibc.open(path, flags) }
    guard raw >= 0 else { throw SecureDirectory.reason(path, .last("open \(path)")) }
    let directory = FileDescriptor(owning: raw)
    narrowed = try SecureDirectory.secure(raw, path: path, kind: S_IFDIR)
    self.path = path
    self.directory = directory
  }

  /// Makes a directory, 0700, where there is none; its name survives a power cut.
  package static func make(_ path: String) throws(DirectoryError) {
    guard mkdir(path, 0o700) == 0 else {
      if errno == EEXIST { return }
      let error = SystemError.last("create \(path)")
      if error.code == ENOENT { throw .missing(path: path) }
      // Where the name is a directory already but cannot be made here (a read-only file system),
      // opening it decides.
      var status = stat()
      if lstat(path, &status) != 0 { throw .system(error) }
      return
    }
    do throws(SystemError) {
      try syncParent(of: path)
    } catch {
      throw .system(error)
    }
  }

  /// Makes the names in the directory above `path` survive a power cut.
  package static func syncParent(of path: String) throws(SystemError) {
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let raw = retryingInterrupts {
      Glibc.open(parent.isEmpty ? "/" : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    guard raw >= 0 else { throw .last("open \(parent)") }
    let directory = FileDescriptor(owning: raw)
    guard retryingInterrupts({ fsync(directory.rawValue) }) == 0 else {
      throw .last("sync the directory \(parent)")
    }
  }

  /// The path of an entry, for messages and for libraries that open by path.
  package func path(of name: String) -> String {
    path + "/" + name
  }

  /// Checks a file as opening checks the directory: a regular file (no link), the user's own; a mode
  /// that is too wide is narrowed and told. Nil if there is nothing of that name.
  package func check(_ name: String) throws(DirectoryError) -> CheckedFile? {
    guard let file = try open(name, O_RDONLY) else { return nil }
    let narrowed = try SecureDirectory.secure(file.rawValue, path: path(of: name), kind: S_IFREG)
    var status = stat()
    guard fstat(file.rawValue, &status) == 0 else {
      throw .system(.last("look at \(path(of: name))"))
    }
    return CheckedFile(size: Int(status.st_size), narrowed: narrowed)
  }

  package struct CheckedFile: Equatable, Sendable {
    package let size: Int
    package let narrowed: NarrowedMode?

    package init(size: Int, narrowed: NarrowedMode?) {
      self.size = size
      self.narrowed = narrowed
    }
  }

  /// The names of all entries, sorted.
  package func names() throws(DirectoryError) -> [String] {
    // A description of its own: reading moves the position.
    let raw = openat(directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard raw >= 0 else { throw .system(.last("read the directory \(path)")) }
    guard let stream = fdopendir(raw) else {
      let error = SystemError.last("read the directory \(path)")
      close(raw)
      throw .system(error)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Takes the lock file `name`, or says who has it.
  package func lock(_ name: String) throws(DirectoryError) -> LockFile.Attempt {
    do throws(SystemError) {
      return try LockFile.acquire(name, in: directory.rawValue, path: path(of: name))
    } catch {
      // It knows the name alone.
      let whole = SystemError(operation: "lock \(path(of: name))", code: error.code)
      throw SecureDirectory.reason(path(of: name), whole)
    }
  }

  /// Makes created, renamed and removed names survive a power cut.
  package func sync() throws(DirectoryError) {
    guard retryingInterrupts({ fsync(directory.rawValue) }) == 0 else {
      throw .system(.last("sync the directory \(path)"))
    }
  }

  // MARK: For the files, SecureDirectory+Files.swift

  var descriptor: Int32 { directory.rawValue }

  /// Opens an entry without following links; nil if there is none.
  func open(_ name: String, _ flags: Int32) throws(DirectoryError) -> FileDescriptor? {
    // Not blocking: a pipe that somebody put there must not hold us up.
    let all = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let raw = retryingInterrupts { openat(descriptor, name, all, 0o600) }
    if raw >= 0 { return FileDescriptor(owning: raw) }
    if errno == ENOENT { return nil }
    throw SecureDirectory.reason(path(of: name), .last("open \(path(of: name))"))
  }

  /// What kind of thing, whose, and how open; narrows the mode if need be.
  static func secure(
    _ descriptor: Int32, path: String, kind: mode_t
  ) throws(DirectoryError) -> NarrowedMode? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(.last("look at \(path)")) }
    guard status.st_mode & S_IFMT == kind else {
      throw kind == S_IFDIR ? .notADirectory(path: path) : .notAFile(path: path)
    }
    let user = geteuid()
    guard status.st_uid == user else {
      throw .wrongOwner(path: path, owner: status.st_uid, expected: user)
    }
    let before = status.st_mode & 0o7777
    let after = before & ~0o077
    if before & 0o077 == 0 { return nil }
    guard fchmod(descriptor, after) == 0 else {
      throw .system(.last("narrow the mode of \(path)"))
    }
    return NarrowedMode(path: path, before: before, after: after)
  }

  /// The kernel's code alone does not tell a link from a file in a directory's place.
  private static func reason(_ path: String, _ error: SystemError) -> DirectoryError {
    switch error.code {
    case ENOENT: return .missing(path: path)
    case ELOOP: return .isLink(path: path)
    case ENOTDIR:
      var status = stat()
      let isLink = lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
      return isLink ? .isLink(path: path) : .notADirectory(path: path)
    // A directory opened for writing, a socket, a pipe without a reader.
    case EISDIR, ENXIO: return .notAFile(path: path)
    default: return .system(error)
    }
  }
}
