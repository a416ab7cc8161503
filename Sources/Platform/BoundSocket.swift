import Glibc

/// A listening socket together with its name in the file system and the lock on that name. When it
/// ends, the name is removed (if it is still this socket's) and the lock freed; so it must outlive
/// whoever was given the listener.
package struct BoundSocket: ~Copyable, Sendable {
  package let path: String
  /// For the next bind.
  package var mode: UInt32
  private let backlog: Int32
  private let lock: LockFile
  private var listener: FileDescriptor?
  private var node: FileNode

  init(path: String, mode: UInt32, backlog: Int32) throws(SocketError) {
    _ = try UnixSocket.address(for: path)
    let lock = try BoundSocket.lock(path)
    try BoundSocket.removeStale(path)
    let (raw, node) = try BoundSocket.bind(path, mode: mode, backlog: backlog)
    self.path = path
    self.mode = mode
    self.backlog = backlog
    self.lock = lock
    self.listener = FileDescriptor(owning: raw)
    self.node = node
  }

  deinit {
    // Before the lock goes with the other members: a successor's name must not be removed.
    if FileNode(at: path) == node { unlink(path) }
  }

  /// The listener, to whoever will accept from it; once after each bind.
  package mutating func takeListener() -> FileDescriptor? {
    listener.take()
  }

  /// Whether the name still leads here. Someone may have removed it, and then no client gets in.
  package var isInPlace: Bool {
    FileNode(at: path) == node
  }

  /// Binds the name again, after it has vanished, and lays a new listener ready.
  package mutating func rebind() throws(SocketError) {
    try BoundSocket.removeStale(path)
    let (raw, node) = try BoundSocket.bind(path, mode: mode, backlog: backlog)
    self.listener = FileDescriptor(owning: raw)
    self.node = node
  }

  /// Removes the name now.
  package consuming func close() {}

  private static func lock(_ path: String) throws(SocketError) -> LockFile {
    let attempt: LockFile.Attempt
    do throws(SystemError) {
      attempt = try LockFile.acquire(path + ".lock")
    } catch {
      throw error.code == ENOENT ? .directoryMissing(path: path) : .system(error)
    }
    switch consume attempt {
    case .held(let lock): return lock
    case .refused(let holder): throw .inUse(path: path, holder: holder)
    }
  }

  private static func removeStale(_ path: String) throws(SocketError) {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return }
      throw .system(.last("look at \(path)"))
    }
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path: path) }
    let probe = try UnixSocket.create(flags: Int32(SOCK_NONBLOCK.rawValue))
    let address = try UnixSocket.address(for: path)
    let result = UnixSocket.withSocketAddress(address) { connect(probe.rawValue, $0, $1) }
    // Whatever else comes (a full queue, no right to connect), somebody may be there.
    guard result != 0, errno == ECONNREFUSED || errno == ENOENT else {
      throw .inUse(path: path, holder: nil)
    }
    guard unlink(path) == 0 || errno == ENOENT else {
      throw .system(.last("remove the left-over socket \(path)"))
    }
  }

  private static func bind(
    _ path: String, mode: UInt32, backlog: Int32
  ) throws(SocketError) -> (raw: Int32, node: FileNode) {
    let address = try UnixSocket.address(for: path)
    let socket = try UnixSocket.create(flags: Int32(SOCK_NONBLOCK.rawValue))
    // The mode that the name is born with comes from the socket's own, so there is no moment at
    // which it is open to all. The umask would do so too, but belongs to the whole process.
    fchmod(socket.rawValue, 0o600)
    guard UnixSocket.withSocketAddress(address, { Glibc.bind(socket.rawValue, $0, $1) }) == 0 else {
      if errno == ENOENT { throw .directoryMissing(path: path) }
      throw .system(.last("bind \(path)"))
    }
    guard chmod(path, mode) == 0 else { throw .system(.last("set the mode of \(path)")) }
    guard listen(socket.rawValue, backlog) == 0 else { throw .system(.last("listen on \(path)")) }
    guard let node = FileNode(at: path) else { throw .system(.last("look at \(path)")) }
    return (socket.release(), node)
  }
}

/// Which file a name leads to, apart from its name. stat(2).
struct FileNode: Equatable, Sendable {
  private let device: UInt
  private let inode: UInt

  init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    device = status.st_dev
    inode = status.st_ino
  }
}
