import Glibc

/// What the kernel says of a process, of a daemon's above all.
package struct Footprint: CustomStringConvertible {
  package private(set) var privateKilobytes = 0
  package private(set) var descriptors = 0
  package private(set) var threads = 0

  package init(of pid: Int32) {
    for line in Self.read("/proc/\(pid)/status").split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" }
      guard words.count > 1, let number = Int(words[1]) else { continue }
      if words[0] == "RssAnon:" { privateKilobytes = number }
      if words[0] == "Threads:" { threads = number }
    }
    if let directory = opendir("/proc/\(pid)/fd") {
      defer { closedir(directory) }
      while let entry = readdir(directory) {
        if entry.pointee.d_name.0 != UInt8(ascii: ".") { descriptors += 1 }
      }
    }
  }

  /// Of each of the figures the lower one.
  package func least(_ other: Footprint) -> Footprint {
    var least = self
    least.privateKilobytes = min(privateKilobytes, other.privateKilobytes)
    least.descriptors = min(descriptors, other.descriptors)
    least.threads = min(threads, other.threads)
    return least
  }

  package var description: String {
    "\(privateKilobytes) kB private, \(descriptors) descriptors, \(threads) threads"
  }

  private static func read(_ path: String) -> String {
    let raw = open(path, O_RDONLY | O_CLOEXEC)
    guard raw >= 0 else { return "" }
    defer { close(raw) }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = Glibc.read(raw, &buffer, buffer.count)
    return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
  }
}
