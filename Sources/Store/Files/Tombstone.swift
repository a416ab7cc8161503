import Glibc
import Platform
import Secrets
import Session

/// A file in the runtime directory that names sessions whose logout was promised but could not be
/// made durable. It lives as long as the machine runs, which is as far as the promise goes; a
/// restart of the daemon obeys it.
///
/// Everything here is a plain synchronous call on a memory file system, for any thread: the store's
/// own may be what hangs.
struct Tombstone: Sendable {
  let path: String

  init?(_ configuration: StoreConfiguration) {
    guard let directory = configuration.runtimeDirectory else { return nil }
    path = directory + "/" + FileName.tombstone
  }

  func leave(for session: SessionID, through generation: Generation) throws(StoreError) {
    let raw = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard raw >= 0 else { throw .failed(SystemError.last("open \(path)").description) }
    let file = FileDescriptor(owning: raw)
    let line = Array("\(session.hex) \(generation.number)\n".utf8)
    guard write(file.rawValue, line, line.count) == line.count else {
      throw .failed(SystemError.last("write \(path)").description)
    }
  }

  /// The generation that a logout of this session moved to; nil where there is no word of one.
  func generation(for session: SessionID) -> Generation? {
    let raw = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard raw >= 0 else { return nil }
    let file = FileDescriptor(owning: raw)
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(file.rawValue, &bytes, bytes.count)
    guard count > 0 else { return nil }
    for line in String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == session.hex, let number = UInt64(words[1]) {
        return Generation(number)
      }
    }
    return nil
  }

  /// What it asked for is durable now.
  func clear() {
    unlink(path)
  }
}
