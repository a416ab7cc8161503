import Configuration
import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SystemFilesTests {
  private let files = ConfigurationFiles.system

  private func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "w"))
    fputs(text, file)
    fclose(file)
  }

  @Test func `files are read whole, missing ones are no error`() throws {
    let directory = try ScratchDirectory()
    try write("[Log]\n", to: directory.path("a.conf"))
    #expect(files.read(directory.path("a.conf")) == .bytes(Array("[Log]\n".utf8)))
    #expect(files.read(directory.path("b.conf")) == .missing)
    #expect(files.read(directory.path("a.conf/b.conf")) == .missing)
    #expect(files.list(directory.path("none")) == .missing)
    guard case .names(let names) = files.list(directory.path) else {
      Issue.record("not listed")
      return
    }
    #expect(names.contains("a.conf"))
  }

  @Test func `a link to the null device masks, other things than files are refused`() throws {
    let directory = try ScratchDirectory()
    #expect(symlink("/dev/null", directory.path("masked.conf")) == 0)
    #expect(files.read(directory.path("masked.conf")) == .bytes([]))
    #expect(mkfifo(directory.path("pipe.conf"), 0o600) == 0)
    #expect(files.read(directory.path("pipe.conf")) == .unreadable("it is not a regular file"))
    #expect(files.read(directory.path) == .unreadable("it is not a regular file"))
    try write(String(repeating: "#", count: (1 << 20) + 1), to: directory.path("large.conf"))
    #expect(files.read(directory.path("large.conf")) == .unreadable("it is larger than 1 MiB"))
  }
}
