import Glibc
import Platform
import TestSupport
import Testing

/// Descriptor 3 and the environment belong to the whole process, so each test is one.
@Suite(.timeLimit(.minutes(1)))
struct PassedSocketTests {
  /// Puts a descriptor where systemd would, and says whom it is for.
  private static func pass(_ raw: Int32, count: Int = 1, pid: pid_t = getpid()) {
    for place in 0..<count { dup2(raw, 3 + Int32(place)) }
    setenv("LISTEN_PID", "\(pid)", 1)
    setenv("LISTEN_FDS", "\(count)", 1)
    setenv("LISTEN_FDNAMES", "varlink", 1)
  }

  private static func isRefused(_ raw: Int32, count: Int = 1, saying word: String) -> Bool {
    pass(raw, count: count)
    do throws(PassedSocketError) {
      _ = try ServiceManager.takePassedSocket()
      return false
    } catch {
      return error.description.contains(word) && !error.description.contains("\n")
    }
  }

  @Test func `B175: a listening socket is taken, not handed on, and its variables are removed`()
    async
  {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      let path = scratch.path("s")
      var bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 4)
      let raw = bound.takeListener()?.release() ?? -1
      Self.pass(raw)
      guard let passed = try ServiceManager.takePassedSocket() else { exit(1) }
      #expect(passed.listener.rawValue == 3)
      #expect(passed.path == path)
      #expect(fcntl(3, F_GETFD) & FD_CLOEXEC != 0)
      #expect(fcntl(3, F_GETFL) & O_NONBLOCK != 0)
      for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { #expect(getenv(name) == nil) }
    }
  }

  @Test func `B175: what is meant for another process is ignored`() async {
    await #expect(processExitsWith: .success) {
      Self.pass(0, pid: 1)
      let isNone = try ServiceManager.takePassedSocket() == nil
      #expect(isNone)
      #expect(getenv("LISTEN_FDS") == nil)
    }
  }

  @Test func `B176: what is no listening Unix stream socket is refused by one line`() async {
    await #expect(processExitsWith: .success) {
      let internet = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      #expect(Self.isRefused(internet, saying: "an Internet socket"))
      let datagram = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      #expect(Self.isRefused(datagram, saying: "not a stream"))
      var pair: [Int32] = [0, 0]
      socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
      #expect(Self.isRefused(pair[0], saying: "not listening"))
      let file = open("/dev/null", O_RDONLY)
      #expect(Self.isRefused(file, saying: "not a socket"))
      #expect(Self.isRefused(file, count: 2, saying: "2 sockets were passed"))
    }
  }
}

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
