import Glibc
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SecureDirectoryTests {
  let scratch: ScratchDirectory
  let path: String

  init() throws {
    scratch = try ScratchDirectory()
    path = scratch.path("state")
  }

  /// Opens and reports, since the macros take no value that cannot be copied.
  private func opening(
    _ path: String, creating: Bool = true
  ) -> Result<NarrowedMode?, DirectoryError> {
    do throws(DirectoryError) {
      return .success(try SecureDirectory(at: path, creating: creating).narrowed)
    } catch {
      return .failure(error)
    }
  }

  @Test func `a missing directory is made for its owner alone`() throws {
    #expect(opening(path) == .success(nil))
    #expect(mode(of: path) == 0o700)
    #expect(opening(path) == .success(nil))
  }

  @Test func `a missing directory is an error where none is to be made, or has no parent`() {
    #expect(opening(path, creating: false) == .failure(.missing(path: path)))
    #expect(opening(path + "/below") == .failure(.missing(path: path + "/below")))
    #expect(mode(of: path) == nil)
  }

  @Test(arguments: [0o755, 0o770, 0o701, 0o1777] as [UInt32])
  func `a mode that is too wide is narrowed and told`(before: UInt32) {
    mkdir(path, 0o700)
    chmod(path, before)
    let narrowed = NarrowedMode(path: path, before: before, after: before & 0o7700)
    #expect(opening(path) == .success(narrowed))
    #expect(mode(of: path) == before & 0o7700)
    #expect(opening(path) == .success(nil))
  }

  @Test(arguments: [true, false])
  func `a link is refused, wherever it leads`(leadsToDirectory: Bool) {
    if leadsToDirectory { mkdir(scratch.path("target"), 0o755) }
    symlink(scratch.path("target"), path)
    #expect(opening(path) == .failure(.isLink(path: path)))
    #expect(mode(of: scratch.path("target")) == (leadsToDirectory ? 0o755 : nil))
  }

  @Test func `a file in the directory's place is refused`() {
    makeFile(path)
    #expect(opening(path) == .failure(.notADirectory(path: path)))
  }

  @Test func `a directory of another user is refused and left as it is`() {
    // Root can give one away; others have one that is root's.
    let foreign = geteuid() == 0 ? path : "/usr"
    if geteuid() == 0 {
      mkdir(path, 0o777)
      chmod(path, 0o777)
      chown(path, 12345, 12345)
    }
    let before = mode(of: foreign)
    guard case .failure(.wrongOwner(foreign, let owner, geteuid())) = opening(foreign) else {
      Issue.record("not refused")
      return
    }
    #expect(owner != geteuid())
    #expect(mode(of: foreign) == before)
  }

  @Test func `what is done to the path later does not move an open directory`() throws {
    let directory = try SecureDirectory(at: path)
    rename(path, scratch.path("moved"))
    mkdir(path, 0o700)
    try directory.create("file", with: [1])
    #expect(mode(of: scratch.path("moved/file")) == 0o600)
    #expect(mode(of: path + "/file") == nil)
  }

  @Test(arguments: [
    (DirectoryError.isLink(path: "/d"), "link"), (.missing(path: "/d"), "create"),
    (.wrongOwner(path: "/d", owner: 7, expected: 8), "user 7"),
    (.tooLarge(path: "/d", limit: 32), "32 bytes"), (.notADirectory(path: "/d"), "move it away"),
  ])
  func `an error names the path and what to do`(error: DirectoryError, words: String) {
    #expect(error.description.contains("/d"))
    #expect(error.description.contains(words))
  }

  @Test func `a lock is held by one, who is named to the other, until its value ends`() throws {
    let directory = try SecureDirectory(at: path)
    func attempt() throws -> Int32? {
      switch try directory.lock("lock") {
      case .held: return nil
      case .refused(let holder): return holder
      }
    }
    do {
      let held = try directory.lock("lock")
      let holder = try attempt()
      #expect(holder == getpid())
      _ = consume held
    }
    let free = try attempt()
    #expect(free == nil)
    #expect(mode(of: path + "/lock") == 0o600)
  }

  @Test func `a link in the lock file's place is refused`() throws {
    let directory = try SecureDirectory(at: path)
    symlink(scratch.path("target"), path + "/lock")
    let error = failure { () throws(DirectoryError) in _ = try directory.lock("lock") }
    #expect(error == .isLink(path: path + "/lock"))
    #expect(mode(of: scratch.path("target")) == nil)
  }
}

func mode(of path: String) -> UInt32? {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func makeFile(_ path: String, mode: UInt32 = 0o600) {
  close(open(path, O_CREAT | O_WRONLY, 0o600))
  chmod(path, mode)
}

func failure<Failure: Error>(_ body: () throws(Failure) -> Void) -> Failure? {
  do throws(Failure) {
    try body()
    return nil
  } catch {
    return error
  }
}
