import CLinux
import Glibc

/// An advisory lock (flock(2)) on a file of its own, held until the value ends or the process dies.
/// The file holds the pid of the holder, for the one who is refused; it is never removed, since
/// removing it would let two hold "the" lock.
package struct LockFile: ~Copyable, Sendable {
  /// What came of an attempt. Not an error: both are ordinary.
  package enum Attempt: ~Copyable {
    case held(LockFile)
    /// Somebody else has it; the pid if the file tells one.
    case refused(holder: Int32?)
  }

  private let file: FileDescriptor

  /// Never waits. `directory` is a descriptor that `name` is relative to, or AT_FDCWD; `path` is
  /// what errors call the file.
  package static func acquire(
    _ name: String, in directory: Int32 = AT_FDCWD, path: String? = nil
  ) throws(SystemError) -> Attempt {
    let path = path ?? name
    let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
    let raw = retryingInterrupts { openat(directory, name, flags, 0o600) }
    guard raw >= 0 else { throw .last("open the lock file \(path)") }
    let file = FileDescriptor(owning: raw)
    guard retryingInterrupts({ flock(raw, LOCK_EX | LOCK_NB) }) == 0 else {
      if errno == EWOULDBLOCK { return .refused(holder: holder(in: raw)) }
      throw .last("lock \(path)")
    }
    // The pid only helps people; on a full disk the lock holds without it.
    ftruncate(raw, 0)
    let text = Array("\(getpid())\n".utf8)
    _ = pwrite(raw, text, text.count, 0)
    return .held(LockFile(file: file))
  }

  private init(file: consuming FileDescriptor) {
    self.file = file
  }

  private static func holder(in descriptor: Int32) -> Int32? {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return nil }
    let digits = bytes.prefix(count).prefix { $0 >= 0x30 && $0 <= 0x39 }
    return Int32(String(decoding: digits, as: UTF8.self))
  }
}
