import Glibc

/// How files are looked at: the system's in the daemon, a table in tests.
package struct ConfigurationFiles: Sendable {
  package enum Contents: Sendable, Equatable {
    case bytes([UInt8])
    case missing
    /// There is one, and it cannot be read; why, for people.
    case unreadable(String)
  }

  package enum Listing: Sendable, Equatable {
    case names([String])
    case missing
    case unreadable(String)
  }

  package var read: @Sendable (_ path: String) -> Contents
  package var list: @Sendable (_ directory: String) -> Listing

  package init(
    read: @escaping @Sendable (String) -> Contents,
    list: @escaping @Sendable (String) -> Listing
  ) {
    self.read = read
    self.list = list
  }

  package static let system = ConfigurationFiles(read: readFile, list: listDirectory)

  /// A configuration is a few kilobytes; what is larger is something else.
  private static let bound = 1 << 20

  private static func readFile(_ path: String) -> Contents {
    // A pipe in a file's place must not stop the start.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      return errno == ENOENT || errno == ENOTDIR ? .missing : .unreadable(reason(errno))
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .unreadable(reason(errno)) }
    // A drop-in that is a link to /dev/null masks one of lower precedence.
    if status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == makedev(1, 3) { return .bytes([]) }
    guard status.st_mode & S_IFMT == S_IFREG else { return .unreadable("it is not a regular file") }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return .unreadable(reason(errno)) }
      if count == 0 { return .bytes(bytes) }
      bytes += buffer.prefix(count)
      if bytes.count > bound { return .unreadable("it is larger than 1 MiB") }
    }
  }

  private static func listDirectory(_ path: String) -> Listing {
    guard let directory = opendir(path) else {
      return errno == ENOENT || errno == ENOTDIR ? .missing : .unreadable(reason(errno))
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      // The name's array is longer than the struct says where names are long: read by address.
      let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
      let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      names.append(String(cString: name))
    }
    return .names(names)
  }

  private static func makedev(_ major: UInt, _ minor: UInt) -> UInt { major << 8 | minor }

  private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
