import CLinux
import Execution
import Glibc

/// Tells when something has happened to files: one was removed, renamed, replaced, or its mode
/// changed (inotify(7)). What it was is not looked at: the handler sees for itself.
///
/// It costs nothing while nothing happens, unlike looking every few seconds. What the kernel does not
/// report, and the owner must not rely on: a file system that is mounted over the files.
package final class FileWatch: @unchecked Sendable {
  // Unchecked: made, used and cancelled on the loop.
  private let loop: EventLoop
  private var descriptor: FileDescriptor?
  private let handler: @Sendable () -> Void

  /// On the loop. Throws where a file is not there, or the kernel gives no more watches.
  package init(
    loop: EventLoop, paths: [String], handler: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.handler = handler
    let raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard raw >= 0 else { throw .last("watch files") }
    descriptor = FileDescriptor(owning: raw)
    let events = UInt32(IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
    for path in paths where inotify_add_watch(raw, path, events) < 0 {
      throw .last("watch \(path)")
    }
    try loop.watch(raw, for: .readable) { [weak self] _ in self?.read(raw) }
  }

  /// On the loop. The handler is not called again.
  package func cancel() {
    guard let descriptor = descriptor.take() else { return }
    loop.unwatch(descriptor.rawValue)
  }

  private func read(_ raw: Int32) {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = Glibc.read(raw, &bytes, bytes.count)
      if count > 0 || (count < 0 && errno == EINTR) { continue }
      break
    }
    handler()
  }
}
