import Glibc
import Platform

/// What stands under a name in the state directory.
enum EntryKind: Equatable {
  case missing
  case file(size: Int)
  /// A directory, a pipe, a socket: nothing of ours.
  case foreign
}

/// The state directory, held open for as long as the store is. A class, since the store's parts
/// share it; `SecureDirectory` does the work and the checks.
final class StateDirectory {
  /// The directory's canonical path, for SQLite, which opens by path and refuses one with a link
  /// anywhere in it. A link above the directory is the administrator's own affair.
  let path: String
  private let directory: SecureDirectory

  /// Makes the directory, and what is above it, where it is missing.
  init(at path: String, warnings: inout [String]) throws(DirectoryError) {
    if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      var prefix = path.hasPrefix("/") ? "" : "."
      for part in path[..<slash].split(separator: "/") {
        prefix += "/" + part
        // Whether it worked is seen when the directory itself is made.
        try? SecureDirectory.make(prefix)
      }
    }
    directory = try SecureDirectory(at: path)
    if let narrowed = directory.narrowed { warnings.append(narrowed.description) }
    self.path = Self.canonical(path) ?? path
  }

  func path(of name: String) -> String { path + "/" + name }

  func lock(_ name: String) throws(DirectoryError) -> LockFile.Attempt { try directory.lock(name) }

  /// Looks at an entry before anything opens it. What must not be touched (a link, a file of
  /// another user) is thrown; a mode that is too wide is narrowed, with a warning.
  func check(_ name: String, warnings: inout [String]) throws(DirectoryError) -> EntryKind {
    do throws(DirectoryError) {
      guard let file = try directory.check(name) else { return .missing }
      if let narrowed = file.narrowed { warnings.append(narrowed.description) }
      return .file(size: file.size)
    } catch {
      if case .notAFile = error { return .foreign }
      throw error
    }
  }

  func exists(_ name: String) -> Bool {
    var status = stat()
    return lstat(path(of: name), &status) == 0
  }

  func size(of name: String) -> Int {
    var status = stat()
    return lstat(path(of: name), &status) == 0 ? Int(status.st_size) : 0
  }

  func names() throws(DirectoryError) -> [String] { try directory.names() }

  func read(_ name: String, limit: Int) throws(DirectoryError) -> [UInt8]? {
    try directory.read(name, limit: limit)
  }

  func read(_ name: String, into memory: UnsafeMutableRawBufferPointer) throws(DirectoryError)
    -> Int?
  {
    try directory.read(name, into: memory)
  }

  func create(_ name: String, _ bytes: [UInt8]) throws(DirectoryError) {
    try directory.create(name, with: bytes)
  }

  func create(_ name: String, _ bytes: UnsafeRawBufferPointer) throws(DirectoryError) {
    try directory.create(name, with: bytes)
  }

  func replace(_ name: String, _ bytes: [UInt8]) throws(DirectoryError) {
    try directory.replace(name, with: bytes)
  }

  func overwrite(_ name: String, _ bytes: [UInt8]) throws(DirectoryError) {
    try directory.overwrite(name, with: bytes)
  }

  func sync(_ name: String) throws(DirectoryError) { try directory.sync(name) }

  func rename(_ name: String, to newName: String) throws(DirectoryError) {
    try directory.rename(name, to: newName)
  }

  func remove(_ name: String) throws(DirectoryError) { try directory.remove(name) }

  /// Zeros, then no name, then the directory synced. A directory that somebody has put there is
  /// moved aside: it held nothing of ours.
  func destroy(_ name: String) throws(DirectoryError) {
    do throws(DirectoryError) {
      try directory.destroy(name)
    } catch {
      guard error.systemCode == EISDIR else { throw error }
      try directory.rename(name, to: "foreign.damaged-\(name)")
    }
  }

  /// Empties a file and gives it another name; where one of the two cannot be done, destroys it.
  func retire(_ name: String, to newName: String) throws(DirectoryError) {
    do throws(DirectoryError) {
      try directory.overwrite(name, with: [UInt8](repeating: 0, count: size(of: name)))
      try directory.rename(name, to: newName)
    } catch {
      try destroy(name)
    }
  }

  private static func canonical(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}

extension DirectoryError {
  /// The kernel's code, where it is the kernel that said no.
  var systemCode: Int32 {
    if case .system(let error) = self { error.code } else { 0 }
  }
}
