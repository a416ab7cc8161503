import Configuration
import Execution
import Glibc
import Platform
import Varlink

/// Keeps the daemon's own socket reachable: one whose name has vanished (a cleaner of temporary
/// files, a mistake) is bound again, while those who are connected stay. A passed socket is the
/// service manager's, and has no keeper.
actor SocketKeeper {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let loop: EventLoop
  private let log: Log
  private var bound: BoundSocket?
  private var configuration: DaemonConfiguration.Socket
  private var accounts: AccountNames
  private var server: VarlinkServer?
  private var files: FileWatch?
  private var timer: TimerID?

  /// How often is looked where the kernel does not tell, or binding it again has failed.
  static let interval = Duration.seconds(5)

  init(
    loop: EventLoop, bound: consuming sending BoundSocket,
    configuration: DaemonConfiguration.Socket, accounts: AccountNames, log: Log
  ) {
    self.loop = loop
    self.log = log
    self.bound = consume bound
    self.configuration = configuration
    self.accounts = accounts
    unownedExecutor = loop.asUnownedSerialExecutor()
  }

  func watch(for server: VarlinkServer) {
    self.server = server
    watchFiles()
  }

  /// The socket and its directory: either may be removed or renamed.
  private func watchFiles() {
    files?.cancel()
    files = nil
    let path = configuration.path
    do throws(SystemError) {
      files = try FileWatch(loop: loop, paths: [path, Listening.directory(of: path)]) {
        self.assumeIsolated { $0.check() }
      }
      // What happened before the watch stood was not reported.
      if !(bound?.isInPlace ?? true) { arm() }
    } catch {
      arm()
    }
  }

  private func arm() {
    if let timer { loop.cancel(timer) }
    timer = loop.schedule(at: loop.now.advanced(by: Self.interval)) {
      self.assumeIsolated { $0.check() }
    }
  }

  private func check() {
    guard bound != nil else { return }
    if bound?.isInPlace ?? true {
      if files == nil { watchFiles() }
      return
    }
    do throws(SocketError) {
      Listening.makeDirectory(Listening.directory(of: configuration.path))
      try bound?.rebind()
      Listening.setGroup(configuration, accounts, log: log)
      watchFiles()
      guard let listener = bound?.takeListener() else { return }
      // A descriptor cannot be captured by a task, its number can.
      let raw = listener.release()
      Task { await self.serve(raw) }
    } catch {
      log(.error, "the socket \(configuration.path) has vanished: \(error.description)")
      arm()
    }
  }

  private func serve(_ raw: Int32) async {
    let listener = FileDescriptor(owning: raw)
    do throws(SystemError) {
      try await server?.serve(on: listener)
      log(
        .warning, "the socket \(configuration.path) had vanished and is bound again",
        LogFields(event: "socketRestored"))
    } catch {
      log(.error, "\(configuration.path) is bound again but not served: \(error.description)")
    }
  }

  /// Mode and group of a reload; the path stays.
  func adopt(mode: UInt32, group: String?, _ accounts: AccountNames) {
    configuration.mode = mode
    configuration.group = group
    self.accounts = accounts
    bound?.mode = mode
    guard bound?.isInPlace ?? false else { return }
    if chmod(configuration.path, mode) != 0 {
      log(.warning, "\(SystemError.last("set the mode of \(configuration.path)"))")
    }
    Listening.setGroup(configuration, accounts, log: log)
  }

  /// Removes the name.
  func close() {
    if let timer { loop.cancel(timer) }
    files?.cancel()
    bound = nil
  }
}
