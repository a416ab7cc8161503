import Glibc
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SecureFileTests {
  let scratch: ScratchDirectory

  init() throws {
    scratch = try ScratchDirectory()
  }

  @Test func `a file is made private, once, and read back`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    try directory.create("file", with: [1, 2, 3])
    #expect(mode(of: scratch.path("file")) == 0o600)
    let path = scratch.path("file")
    let error = failure { () throws(DirectoryError) in try directory.create("file", with: [4]) }
    #expect(error == .system(SystemError(operation: "create \(path)", code: EEXIST)))
    let bytes = try directory.read("file", limit: 3)
    #expect(bytes == [1, 2, 3])
  }

  @Test(arguments: [0, 1, 4095, 4096, 100_000])
  func `a file of the limit's size is read whole, one byte more is an error`(size: Int) throws {
    let directory = try SecureDirectory(at: scratch.path)
    let contents = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    try directory.create("file", with: contents)
    let whole = try directory.read("file", limit: size)
    #expect(whole == contents)
    let roomy = try directory.read("file", limit: size + 1)
    #expect(roomy == contents)
    if size == 0 { return }
    let error = failure { () throws(DirectoryError) in
      _ = try directory.read("file", limit: size - 1)
    }
    #expect(error == .tooLarge(path: scratch.path("file"), limit: size - 1))
  }

  @Test func `what is not there reads as nothing`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    let bytes = try directory.read("none", limit: 10)
    #expect(bytes == nil)
    let checked = try directory.check("none")
    #expect(checked == nil)
    try directory.remove("none")
    try directory.destroy("none")
  }

  @Test func `replacing leaves the new contents, even over the left-overs of a crash`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    makeFile(scratch.path("file.new"), mode: 0o644)
    try directory.replace("file", with: [1])
    try directory.replace("file", with: [2, 2])
    let bytes = try directory.read("file", limit: 10)
    #expect(bytes == [2, 2])
    let names = try directory.names()
    #expect(names == ["file"])
  }

  @Test func `replacing a link replaces the link, not what it leads to`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    try directory.create("target", with: [1])
    symlink(scratch.path("target"), scratch.path("file"))
    symlink(scratch.path("target"), scratch.path("file.new"))
    try directory.replace("file", with: [2])
    let (target, file) = (
      try directory.read("target", limit: 1), try directory.read("file", limit: 1)
    )
    #expect(target == [1])
    #expect(file == [2])
  }

  @Test func `links, directories and pipes are neither read nor written nor waited for`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    try directory.create("target", with: [1])
    symlink(scratch.path("target"), scratch.path("link"))
    mkdir(scratch.path("directory"), 0o700)
    mkfifo(scratch.path("pipe"), 0o600)
    let expected: [(String, DirectoryError)] = [
      ("link", .isLink(path: scratch.path("link"))),
      ("directory", .notAFile(path: scratch.path("directory"))),
      ("pipe", .notAFile(path: scratch.path("pipe"))),
    ]
    for (name, wanted) in expected {
      let reading = failure { () throws(DirectoryError) in
        _ = try directory.read(name, limit: 1)
      }
      let checking = failure { () throws(DirectoryError) in _ = try directory.check(name) }
      let writing = failure { () throws(DirectoryError) in
        try directory.overwrite(name, with: [9])
      }
      #expect([reading, checking, writing] == [wanted, wanted, wanted])
    }
    let target = try directory.read("target", limit: 1)
    #expect(target == [1])
  }

  @Test func `a check tells the size, and narrows a mode that is too wide`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    try directory.create("file", with: [1, 2])
    chmod(scratch.path("file"), 0o644)
    let narrowed = NarrowedMode(path: scratch.path("file"), before: 0o644, after: 0o600)
    let first = try directory.check("file")
    #expect(first == SecureDirectory.CheckedFile(size: 2, narrowed: narrowed))
    let second = try directory.check("file")
    #expect(second == SecureDirectory.CheckedFile(size: 2, narrowed: nil))
  }

  @Test func `overwriting keeps the file and what lies beyond`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    try directory.create("slot", with: [0, 0, 0, 0])
    try directory.overwrite("slot", with: [7, 8])
    let bytes = try directory.read("slot", limit: 4)
    #expect(bytes == [7, 8, 0, 0])
    let error = failure { () throws(DirectoryError) in try directory.overwrite("none", with: [1]) }
    #expect(error == .missing(path: scratch.path("none")))
  }

  @Test func `a destroyed file is zeros under every other name that it had`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    try directory.create("key", with: [UInt8](repeating: 0xAA, count: 64))
    link(scratch.path("key"), scratch.path("other"))
    try directory.destroy("key")
    #expect(mode(of: scratch.path("key")) == nil)
    let rest = try directory.read("other", limit: 64)
    #expect(rest == [UInt8](repeating: 0, count: 64))
  }

  @Test func `destroying a link removes the link alone`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    try directory.create("target", with: [1])
    symlink(scratch.path("target"), scratch.path("key"))
    try directory.destroy("key")
    let target = try directory.read("target", limit: 1)
    #expect(target == [1])
    let names = try directory.names()
    #expect(names == ["target"])
  }

  @Test func `a renamed file is found under its new name alone`() throws {
    let directory = try SecureDirectory(at: scratch.path)
    try directory.create("a", with: [1])
    try directory.rename("a", to: "b")
    let names = try directory.names()
    #expect(names == ["b"])
  }
}
