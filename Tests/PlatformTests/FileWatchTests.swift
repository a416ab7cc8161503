import Glibc
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct FileWatchTests {
  enum Change: CaseIterable, Sendable { case removal, renaming, replacement, mode, directory }

  @Test(arguments: Change.allCases)
  func `what happens to a file or its directory is told`(change: Change) async throws {
    let scratch = try ScratchDirectory()
    let directory = scratch.path("d")
    try #require(mkdir(directory, 0o700) == 0)
    let file = directory + "/file"
    for path in [file, scratch.path("other")] {
      let raw = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      try #require(raw >= 0 && close(raw) == 0)
    }
    let thread = try LoopThread()
    let told = Gate()
    let watch = Locked<FileWatch?>(nil)
    await withCheckedContinuation { done in
      thread.loop.perform {
        let new = try? FileWatch(loop: thread.loop, paths: [file, directory]) { told.open() }
        watch.withLock { $0 = new }
        done.resume()
      }
    }
    try #require(watch.withLock { $0 != nil })
    let result =
      switch change {
      case .removal: unlink(file)
      case .renaming: rename(file, file + "-2")
      case .replacement: rename(scratch.path("other"), file)
      case .mode: chmod(file, 0o644)
      case .directory: rename(directory, directory + "-2")
      }
    #expect(result == 0)
    await told.wait()
    await withCheckedContinuation { done in
      thread.loop.perform {
        watch.withLock { $0?.cancel() }
        done.resume()
      }
    }
  }

  @Test func `a file that is not there cannot be watched`() async throws {
    let thread = try LoopThread()
    let isRefused = await withCheckedContinuation { done in
      thread.loop.perform {
        let watch = try? FileWatch(loop: thread.loop, paths: ["/nonexistent/file"]) {}
        done.resume(returning: watch == nil)
      }
    }
    #expect(isRefused)
  }
}
