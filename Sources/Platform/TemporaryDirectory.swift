import Glibc

/// A directory of this process's own, for files that live as long as a command does.
package enum TemporaryDirectory {
  /// Makes it in `parent`, private (0700), under a name that nobody has: mkdtemp(3) puts six
  /// characters of its own behind the prefix. Whoever asked removes it.
  package static func make(in parent: String, prefix: String) throws(SystemError) -> String {
    var name = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { throw .last("make a directory in \(parent)") }
    return String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
