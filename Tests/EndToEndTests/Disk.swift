import FoundationEssentials
import Glibc
import Platform
import TestSupport
import Testing

extension DaemonFixture {
  /// No file of the daemon's may grow beyond this: to it, the disk is full (EFBIG, prlimit(1)).
  func limitFiles(bytes: String) throws {
    let tool = "/usr/bin/prlimit"
    guard FileManager.default.isExecutableFile(atPath: tool) else {
      try Test.cancel("there is no \(tool) (Debian: util-linux)")
    }
    let child = try ChildProcess.start(
      tool, ["--pid", String(try process.pid), "--fsize=\(bytes):"])
    try #require(child.wait() == .exited(0), "\(child.standardError)")
  }
}

/// A file system of a test's own, mounted where a daemon has its state; gone with the value. It needs
/// root, and a kernel that gives it: without, the test is cancelled and says why.
final class Mount {
  let path: String
  private let scratch: ScratchDirectory
  private var isMounted = false

  init(at path: String) throws {
    self.path = path
    scratch = try ScratchDirectory()
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    unmount()
  }

  func memory(size: String) throws {
    try mount(["-t", "tmpfs", "-o", "size=\(size),mode=0700", "tmpfs", path])
  }

  /// A small ext4 on a loop device. A second time it is mounted as it is, as after a repair.
  func disk() throws {
    let image = scratch.path("image")
    if !FileManager.default.fileExists(atPath: image) {
      let file = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      let isMade = file >= 0 && ftruncate(file, 16 << 20) == 0
      close(file)
      guard isMade, try Self.run("mkfs.ext4", ["-q", "-F", image]).0 == .exited(0) else {
        try Test.cancel("no ext4 can be made here (Debian: e2fsprogs)")
      }
    }
    try mount(["-o", "loop", image, path])
    chmod(path, 0o700)
  }

  /// As the kernel does after an error of the disk: what is open stays open, and takes no writes.
  func abort() throws {
    let (status, errors) = try Self.run("mount", ["-o", "remount,abort", path])
    // That mount(8) complains is part of it; whether it worked is seen by a write.
    if access(path, W_OK) == 0 || errno != EROFS {
      let probe = open(path + "/probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      if probe >= 0 { close(probe) }
      try #require(probe < 0 && errno == EROFS, "\(status.map { "\($0)" } ?? ""): \(errors)")
    }
  }

  /// Takes all space that is left.
  func fill() throws {
    let file = open(path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    for size in [65_536, 4096, 1] {
      let bytes = [UInt8](repeating: 7, count: size)
      while write(file, bytes, size) > 0 {}
      try #require(errno == ENOSPC)
    }
  }

  func makeRoom() { unlink(path + "/filler") }

  func unmount() {
    guard isMounted else { return }
    isMounted = false
    _ = try? Self.run("umount", ["-l", path])
  }

  private func mount(_ arguments: [String]) throws {
    guard geteuid() == 0 else { try Test.cancel("mounting needs root") }
    let (status, errors) = try Self.run("mount", arguments)
    guard status == .exited(0) else {
      try Test.cancel("\(arguments.joined(separator: " ")): \(errors)")
    }
    isMounted = true
  }

  private static func run(
    _ tool: String, _ arguments: [String]
  ) throws -> (ChildProcess.Status?, String) {
    for directory in ["/usr/sbin", "/usr/bin", "/sbin", "/bin"] {
      let path = directory + "/" + tool
      guard FileManager.default.isExecutableFile(atPath: path) else { continue }
      let child = try ChildProcess.start(
        path, arguments, environment: ["PATH": "/usr/sbin:/usr/bin"])
      return (child.wait(), child.standardError)
    }
    try Test.cancel("there is no \(tool)")
  }
}
