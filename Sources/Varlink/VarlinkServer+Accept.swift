import Execution
import Glibc
package import Platform

/// The listening side. When the process is out of descriptors, accept fails at once and for ever
/// while clients wait, and a loop would spin on it; so one descriptor is kept back: given up, it
/// lets the waiting connection be accepted and closed. Where even that fails, the listener rests.
final class Listener {
  let descriptor: FileDescriptor
  var reserve: FileDescriptor?
  var pause: TimerID?

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
    refillReserve()
  }

  func refillReserve() {
    if reserve != nil { return }
    let raw = open("/dev/null", O_RDONLY | O_CLOEXEC)
    if raw >= 0 { reserve = FileDescriptor(owning: raw) }
  }
}

extension VarlinkServer {
  /// Accepts from now on. A listener given before is closed: it is the one whose name has vanished.
  package func serve(on listener: consuming FileDescriptor) throws(SystemError) {
    if isStopping { return }
    closeListener()
    let listener = Listener(listener)
    try watch(listener)
    self.listener = listener
    countRoom()
  }

  /// How many connections this process has room for, with what it has open now.
  func countRoom() {
    maxConnections = limits.connections(
      descriptors: ProcessDescriptors.limit,
      inUse: max(0, ProcessDescriptors.open - connections.count))
  }

  private func watch(_ listener: Listener) throws(SystemError) {
    try loop.watch(listener.descriptor.rawValue, for: .readable) { [self] _ in
      assumeIsolated { $0.acceptWaiting() }
    }
  }

  func closeListener() {
    guard let listener else { return }
    if let pause = listener.pause { loop.cancel(pause) }
    loop.unwatch(listener.descriptor.rawValue)
    self.listener = nil
  }

  private func acceptWaiting() {
    guard let listener, listener.pause == nil else { return }
    for _ in 0..<limits.acceptsPerTurn {
      do throws(SystemError) {
        guard let descriptor = try UnixSocket.accept(from: listener.descriptor.rawValue) else {
          return
        }
        admit(descriptor)
      } catch {
        notices.post(.descriptorsExhausted(error), now: loop.now)
        switch shed(listener) {
        case .refused: continue
        case .nobodyWaits: return
        case .noDescriptor:
          rest(listener)
          return
        }
      }
    }
  }

  /// Closes at once what is past a bound: an end of file tells the client more than silence.
  private func admit(_ descriptor: consuming FileDescriptor) {
    guard connections.count < maxConnections else {
      notices.post(.connectionsExhausted(limit: maxConnections), now: loop.now)
      return
    }
    // A peer that the kernel cannot name has left already.
    guard let peer = try? UnixSocket.peer(of: descriptor.rawValue) else { return }
    guard (accounts[peer.uid]?.connections ?? 0) < limits.maxConnectionsPerUser else {
      let limit = limits.maxConnectionsPerUser
      notices.post(.userExhausted(uid: peer.uid, limit: limit), now: loop.now)
      return
    }
    adopt(descriptor, of: peer)
  }

  private enum Shed {
    case refused
    case nobodyWaits
    case noDescriptor
  }

  /// Refuses one waiting connection with the descriptor kept back.
  private func shed(_ listener: Listener) -> Shed {
    listener.refillReserve()
    guard listener.reserve != nil else { return .noDescriptor }
    listener.reserve = nil
    defer { listener.refillReserve() }
    do throws(SystemError) {
      switch try UnixSocket.accept(from: listener.descriptor.rawValue) {
      case .some: return .refused
      case nil: return .nobodyWaits
      }
    } catch {
      return .noDescriptor
    }
  }

  private func rest(_ listener: Listener) {
    loop.unwatch(listener.descriptor.rawValue)
    let end = loop.now.advanced(by: limits.acceptPause)
    listener.pause = loop.schedule(at: end) { [self] in assumeIsolated { $0.resumeAccepting() } }
  }

  private func resumeAccepting() {
    guard let listener, listener.pause != nil else { return }
    listener.pause = nil
    do throws(SystemError) {
      try watch(listener)
    } catch {
      notices.post(.descriptorsExhausted(error), now: loop.now)
      rest(listener)
    }
  }
}

enum ProcessDescriptors {
  /// How many files this process may open, getrlimit(2).
  static var limit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }

  /// How many numbers below the limit are taken, proc(5); none where that cannot be seen. What was
  /// inherited from before the limit may have a higher number, and takes nobody's place.
  static var open: Int {
    let limit = limit
    guard let directory = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      // The two dots are no number, and the directory itself is closed again.
      if let number = Int32(name), number < limit, number != dirfd(directory) { count += 1 }
    }
    return count
  }
}
