import Glibc
import Platform
import Systemd
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct JournalTests {
  @Test func `a stream is the journal's only if device and inode say so`() throws {
    let scratch = try ScratchDirectory()
    let raw = open(scratch.path("log"), O_WRONLY | O_CREAT, 0o600)
    let file = FileDescriptor(owning: raw)
    var status = stat()
    fstat(file.rawValue, &status)
    let named = ["JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino)"]
    #expect(Journal.isTarget(of: file.rawValue, environment: named))
    let other = ["JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino + 1)"]
    #expect(!Journal.isTarget(of: file.rawValue, environment: other))
    for text in ["", "1", "a:b", "1:2:3"] {
      #expect(!Journal.isTarget(of: file.rawValue, environment: ["JOURNAL_STREAM": text]))
    }
    #expect(!Journal.isTarget(of: file.rawValue, environment: [:]))
  }
}
