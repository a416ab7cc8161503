import Glibc
import Platform
import TestSupport
import Testing

/// What the other tests stand on.
@Suite(.timeLimit(.minutes(1)))
struct TestSupportTests {
  @Test func `a gate holds until it is opened and lets all through from then on`() async {
    let gate = Gate()
    let passed = Locked(0)
    let tasks = (0..<3).map { _ in
      Task {
        await gate.wait()
        passed.withLock { $0 += 1 }
      }
    }
    await gate.arrived(3)
    #expect(passed.withLock { $0 } == 0)
    gate.open()
    for task in tasks { await task.value }
    await gate.wait()
    #expect(passed.withLock { $0 } == 3)
    #expect(gate.arrivals == 4)
  }

  @Test func `a cancelled task passes a closed gate`() async {
    let gate = Gate()
    let task = Task { await gate.wait() }
    await gate.arrived(1)
    task.cancel()
    await task.value
  }

  @Test(.scratchDirectory) func `the trait gives the test a directory of its own`() throws {
    let directory = try ScratchDirectory.current
    #expect(mode(of: directory.path) == 0o700)
    #expect(directory.path.utf8.count < 40)
  }

  @Test func `a scratch directory is removed with all that is in it`() throws {
    var scratch: ScratchDirectory? = try ScratchDirectory()
    let path = try #require(scratch?.path)
    mkdir(path + "/below", 0o700)
    makeFile(path + "/below/file")
    scratch = nil
    #expect(scratch == nil)
    #expect(mode(of: path) == nil)
  }

  @Test func `a child gets its arguments, environment and input, and its output is kept`() throws {
    let child = try ChildProcess.start(
      "/bin/sh", ["-c", "cat; echo $WORD $1; echo bad >&2; exit 3", "sh", "argument"],
      environment: ["WORD": "word"], input: "input\n")
    #expect(child.wait() == .exited(3))
    #expect(child.standardOutput == "input\nword argument\n")
    #expect(child.standardError == "bad\n")
  }

  @Test func `more output than a pipe holds does not block a child`() throws {
    let child = try ChildProcess.start(
      "/bin/sh", ["-c", "head -c 300000 /dev/zero"], environment: [:])
    #expect(child.wait() == .exited(0))
    #expect(child.standardOutput.utf8.count == 300_000)
  }

  @Test func `a child is waited for by its words and ended by a signal`() throws {
    let child = try ChildProcess.start("/bin/sh", ["-c", "echo ready; exec sleep 1000"])
    #expect(child.waitForOutput("ready"))
    #expect(child.wait(atMost: .zero) == nil)
    #expect(child.terminate() == .signalled(SIGTERM))
    child.send(SIGKILL)
  }

  @Test func `a child that handles its signal tells its own code`() throws {
    let child = try ChildProcess.start(
      "/bin/sh", ["-c", "trap 'exit 7' TERM; echo ready; while :; do read x; done"])
    #expect(child.waitForOutput("ready"))
    #expect(child.terminate() == .exited(7))
  }

  @Test func `a child that closes its output is not waited for in vain`() throws {
    let child = try ChildProcess.start("/bin/sh", ["-c", "echo something else"])
    #expect(!child.waitForOutput("ready"))
    #expect(child.wait() == .exited(0))
  }

  @Test func `a child may be given descriptors under numbers of the test's choice`() throws {
    let scratch = try ScratchDirectory()
    let file = FileDescriptor(
      owning: open(scratch.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
    let child = try ChildProcess.start(
      "/bin/sh", ["-c", "echo passed >&9"], descriptors: [9: file.rawValue])
    #expect(child.wait() == .exited(0))
    let directory = try SecureDirectory(at: scratch.path)
    let bytes = try directory.read("file", limit: 100)
    #expect(bytes == Array("passed\n".utf8))
  }

  @Test func `what cannot be started is an error`() {
    #expect(throws: SystemError(operation: "start /none", code: ENOENT)) {
      _ = try ChildProcess.start("/none")
    }
  }

  @Test func `a free port can be bound`() throws {
    #expect(try FreePort.find() > 0)
  }

  @Test func `a loop's thread can be closed twice, also from its own loop`() async throws {
    let thread = try LoopThread()
    await thread.run { thread.close() }
    thread.close()
  }
}
