import Glibc
import Platform

/// What lstat(2) says of a path, as far as the doctor wants it.
struct FileFacts {
  enum Kind: Equatable {
    case file, directory, socket, link, other
  }

  let kind: Kind
  let mode: UInt32
  let uid: UInt32
  let gid: UInt32
  let size: Int64

  /// An errno where it cannot be looked at.
  static func of(_ path: String) -> Result<FileFacts, SystemError> {
    var status = stat()
    guard lstat(path, &status) == 0 else { return .failure(.last("look at \(path)")) }
    let kind: Kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .directory
      case S_IFSOCK: .socket
      case S_IFLNK: .link
      default: .other
      }
    return .success(
      FileFacts(
        kind: kind, mode: status.st_mode & 0o7777, uid: status.st_uid, gid: status.st_gid,
        size: Int64(status.st_size)))
  }

  var octal: String { "0" + String(mode, radix: 8) }

  static func exists(_ path: String) -> Bool {
    if case .success = of(path) { true } else { false }
  }

  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// What an unprivileged writer may still use, and whether it is mounted read-only; nil: unknown.
  static func room(at path: String) -> (bytes: UInt64, readOnly: Bool)? {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    return (UInt64(status.f_bavail) * UInt64(status.f_frsize), status.f_flag & UInt(ST_RDONLY) != 0)
  }

  /// The groups of this process.
  static var ownGroups: Set<UInt32> {
    var groups = [gid_t](repeating: 0, count: 65_536)
    let count = getgroups(Int32(groups.count), &groups)
    return Set(groups.prefix(max(0, Int(count)))).union([getegid()])
  }
}
