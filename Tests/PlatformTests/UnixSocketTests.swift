import Glibc
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct UnixSocketTests {
  let scratch: ScratchDirectory
  let path: String

  init() throws {
    scratch = try ScratchDirectory()
    path = scratch.path("socket")
  }

  private func error(_ body: () throws(SocketError) -> Void) -> SocketError? {
    do throws(SocketError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  private func listenAndDrop(_ path: String) throws(SocketError) {
    _ = try UnixSocket.listen(at: path, mode: 0o600, backlog: 1)
  }

  /// Leaves a socket file behind, as a killed server does; its listener is returned, live.
  private func abandon(_ path: String) throws -> FileDescriptor {
    var bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 1)
    let listener = try present(bound.takeListener())
    rename(path, path + ".kept")
    bound.close()
    rename(path + ".kept", path)
    return listener
  }

  @Test(arguments: [0o600, 0o660, 0o666] as [UInt32])
  func `a bound socket has exactly the mode that was asked for`(wanted: UInt32) throws {
    let bound = try UnixSocket.listen(at: path, mode: wanted, backlog: 1)
    #expect(mode(of: path) == wanted)
    #expect(mode(of: path + ".lock") == 0o600)
    bound.close()
    #expect(mode(of: path) == nil)
  }

  @Test func `a client gets in, and each side knows the other`() throws {
    var bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 1)
    let listener = try present(bound.takeListener())
    let isTakenOnce = isNone(bound.takeListener())
    #expect(isTakenOnce)
    let wouldBlock = isNone(try UnixSocket.accept(from: listener.rawValue))
    #expect(wouldBlock)
    let client = try UnixSocket.connect(to: path)
    let server = try present(UnixSocket.accept(from: listener.rawValue))
    var own = [gid_t](repeating: 0, count: 65536)
    let count = Int(getgroups(Int32(own.count), &own))
    let groups = Set(own.prefix(max(0, count)))
    for end in [client.rawValue, server.rawValue] {
      let peer = try UnixSocket.peer(of: end)
      #expect(peer.pid == getpid())
      #expect(peer.uid == geteuid())
      #expect(peer.gid == getegid())
      #expect(Set(peer.groups) == groups)
      #expect(fcntl(end, F_GETFD) & FD_CLOEXEC != 0)
    }
    #expect(fcntl(server.rawValue, F_GETFL) & O_NONBLOCK != 0)
    #expect(fcntl(client.rawValue, F_GETFL) & O_NONBLOCK == 0)
  }

  @Test func `a second server of the same path is told who has it`() throws {
    let bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 1)
    #expect(
      error { () throws(SocketError) in try listenAndDrop(path) }
        == .inUse(path: path, holder: getpid()))
    #expect({ bound.isInPlace }())
    bound.close()
    try listenAndDrop(path)
  }

  @Test func `a file that a dead server left is replaced`() throws {
    close(try abandon(path).release())
    try #require(mode(of: path) != nil)
    let bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 1)
    #expect({ bound.isInPlace }())
  }

  @Test func `a live server that holds no lock keeps its name`() throws {
    let listener = try abandon(path)
    #expect(
      error { () throws(SocketError) in try listenAndDrop(path) }
        == .inUse(path: path, holder: nil))
    #expect(mode(of: path) != nil)
    _ = listener.rawValue
  }

  @Test func `a file that is no socket is left alone`() throws {
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    #expect(error { () throws(SocketError) in try listenAndDrop(path) } == .notASocket(path: path))
    #expect(mode(of: path) == 0o600)
  }

  @Test func `a path of 107 bytes works, one of 108 is an error that tells both numbers`() throws {
    let name = String(repeating: "s", count: 107 - scratch.path.utf8.count - 1)
    try listenAndDrop(scratch.path(name))
    let long = scratch.path(name + "s")
    let error = error { () throws(SocketError) in try listenAndDrop(long) }
    #expect(error == .pathTooLong(path: long, length: 108, limit: 107))
    #expect(error?.description.contains("108") == true)
    #expect(error?.description.contains("107") == true)
    #expect(mode(of: long + ".lock") == nil)
  }

  @Test(arguments: ["", "a\0b"])
  func `a path that would leave the file system is refused`(path: String) {
    let error = error { () throws(SocketError) in try listenAndDrop(path) }
    #expect(error == .system(SystemError(operation: "use the socket path '\(path)'", code: EINVAL)))
  }

  @Test func `a missing directory is an error that says what to do`() {
    let path = scratch.path("none/socket")
    let error = error { () throws(SocketError) in try listenAndDrop(path) }
    #expect(error == .directoryMissing(path: path))
    #expect(error?.description.contains("create it") == true)
  }

  @Test func `a socket whose name has vanished is bound again under the same lock`() throws {
    var bound = try UnixSocket.listen(at: path, mode: 0o660, backlog: 1)
    unlink(path)
    #expect({ !bound.isInPlace }())
    try bound.rebind()
    #expect({ bound.isInPlace }())
    #expect(mode(of: path) == 0o660)
    _ = try UnixSocket.connect(to: path)
  }

  @Test func `the end of a socket leaves another's file alone`() throws {
    let bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 1)
    unlink(path)
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    bound.close()
    #expect(mode(of: path) == 0o600)
  }

  @Test func `connecting where nobody listens fails with the path in the text`() throws {
    let error = error { () throws(SocketError) in _ = try UnixSocket.connect(to: path) }
    #expect(error == .system(SystemError(operation: "connect to \(path)", code: ENOENT)))
    #expect(error?.description == "connect to \(path): no such file or directory")
  }

  @Test func `a full queue ends the wait of a client at its limit`() throws {
    let bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 0)
    let first = try UnixSocket.connect(to: path)
    let error = error { () throws(SocketError) in
      _ = try UnixSocket.connect(to: path, timeout: .milliseconds(20))
    }
    #expect(error == .system(SystemError(operation: "connect to \(path)", code: EAGAIN)))
    _ = first.rawValue
    bound.close()
  }
}

// The macros take no value that cannot be copied.

private func present(_ descriptor: consuming FileDescriptor?) throws -> FileDescriptor {
  guard let descriptor else { throw SystemError(operation: "find a descriptor", code: ENOENT) }
  return descriptor
}

private func isNone(_ descriptor: consuming FileDescriptor?) -> Bool {
  switch consume descriptor {
  case .none: true
  case .some: false
  }
}
