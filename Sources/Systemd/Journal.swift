import CSystemd
import Glibc

/// The system's journal, systemd-journald(8), spoken to with fields of one's own.
package enum Journal {
  /// Whether what is written to `descriptor` goes to the journal: `JOURNAL_STREAM` names the device
  /// and inode of the stream that systemd has set up, and a redirected descriptor has others.
  /// systemd.exec(5).
  package static func isTarget(of descriptor: Int32, environment: [String: String]) -> Bool {
    let parts = environment["JOURNAL_STREAM"]?.split(separator: ":") ?? []
    guard parts.count == 2, let device = UInt(parts[0]), let inode = UInt(parts[1]) else {
      return false
    }
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_dev == device && status.st_ino == inode
  }

  /// Sends one entry, `NAME=value` each. False: it was not taken, and is to be written elsewhere.
  package static func send(_ fields: [(name: String, value: String)]) -> Bool {
    let texts = fields.map { Array("\($0.name)=\($0.value)".utf8) }
    let bytes = texts.flatMap { $0.map { CChar(bitPattern: $0) } }
    return csystemd_journal_send(bytes, texts.map(\.count), texts.count) >= 0
  }
}
