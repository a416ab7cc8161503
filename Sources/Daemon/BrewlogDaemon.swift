import BrewlogAPI
import Configuration
import Execution
import Glibc
import Platform
import Store

/// The program: from a command line to an exit code.
package enum BrewlogDaemon {
  package static let version = "0.1.0"

  package static func main() -> Never {
    exit(run(Array(CommandLine.arguments.dropFirst()), environment: Environment.present).rawValue)
  }

  static func run(_ arguments: [String], environment: [String: String]) -> ExitCode {
    let options: DaemonOptions
    do throws(DaemonOptions.UsageError) {
      options = try DaemonOptions.parse(arguments)
    } catch {
      return fail(.usage, error.message)
    }
    switch options.action {
    case .help:
      printOut(DaemonOptions.help)
      return .stopped
    case .version:
      printOut("brewlogd \(version)\n")
      return .stopped
    case .run, .checkConfiguration, .rekey: break
    }
    let configuration: DaemonConfiguration
    do throws(ConfigurationError) {
      configuration = try DaemonConfiguration.load(from: source(options, environment))
    } catch {
      for problem in error.problems { Log.standardError("brewlogd: \(problem.description)\n") }
      return .configuration
    }
    switch options.action {
    case .checkConfiguration:
      printOut("the configuration is valid\n")
      return .stopped
    default: return start(configuration, environment)
    }
  }

  private static func source(
    _ options: DaemonOptions, _ environment: [String: String]
  ) -> ConfigurationSource {
    ConfigurationSource(
      scope: options.isUser ? .user(Accounts.ownUserID) : .system, instance: options.instance,
      file: options.configurationFile, environment: environment)
  }

  private static func start(
    _ configuration: DaemonConfiguration, _ environment: [String: String]
  ) -> ExitCode {
    let loop: EventLoop
    do throws(SystemError) {
      // Before the first thread, the first file and the first secret.
      try ProcessHardening.apply()
      SignalSource.block([SIGTERM, SIGINT, SIGHUP])
      loop = try EventLoop()
    } catch {
      return fail(.fault, "\(error.description)")
    }
    RuntimeExecutors.install(loop)
    let log = Log(
      level: Log.Level(configuration.log.level), isJournal: environment["JOURNAL_STREAM"] != nil,
      wallTime: { loop.wallTime })
    let store: OpenedStore
    do throws(StoreOpenError) {
      store = try SQLiteSessionStore.open(
        StoreConfiguration(
          directory: configuration.store.directory, keyFile: configuration.store.keyFile,
          credentialsDirectory: environment["CREDENTIALS_DIRECTORY"],
          runtimeDirectory: Listening.directory(of: configuration.socket.path)))
    } catch {
      return fail(ExitCode(rawValue: error.exitCode) ?? .fault, error.message)
    }
    for warning in store.warnings { log(.warning, warning) }
    let bound: BoundSocket
    do throws(SocketError) {
      bound = try Listening.bind(configuration.socket, log: log)
    } catch {
      let code: ExitCode = if case .inUse = error { .alreadyRunning } else { .cannotCreate }
      return fail(code, "\(error.description)")
    }
    return serve(configuration, loop, store, bound, log)
  }

  private static func serve(
    _ configuration: DaemonConfiguration, _ loop: EventLoop, _ store: OpenedStore,
    _ bound: consuming sending BoundSocket, _ log: Log
  ) -> ExitCode {
    let graph: DaemonGraph
    do throws(DaemonGraph.Fault) {
      graph = try DaemonGraph(configuration: configuration, loop: loop, store: store, log: log)
    } catch {
      return fail(.configuration, error.message)
    }
    guard let listener = bound.takeListener() else {
      return fail(.cannotCreate, "\(bound.path) has no listener")
    }
    let result = Locked(ExitCode.fault)
    let raw = listener.release()
    let path = bound.path
    Task(executorPreference: loop) {
      do {
        try await graph.start(listener: FileDescriptor(owning: raw))
        log(.notice, "brewlogd \(version) serves \(path)")
      } catch {
        log(.error, "cannot start: \(error)")
        result.withLock { $0 = .fault }
        loop.stop()
      }
    }
    let stop: @Sendable () -> Void = {
      Task(executorPreference: loop) {
        let code = await graph.stop()
        result.withLock { $0 = code }
        loop.stop()
      }
    }
    runUntilStopped(loop, stop, log)
    return result.withLock { $0 }
  }

  /// Runs the loop with SIGTERM and SIGINT stopping the daemon in order, once.
  private static func runUntilStopped(
    _ loop: EventLoop, _ stop: @escaping @Sendable () -> Void, _ log: Log
  ) {
    let isStopping = Locked(false)
    let source = Locked<SignalSource?>(nil)
    loop.perform {
      do throws(SystemError) {
        let signals = try SignalSource(loop: loop, signals: [SIGTERM, SIGINT, SIGHUP]) { signal in
          if signal == SIGHUP {
            log(.notice, "SIGHUP: a reload is not there yet; restart to change the configuration")
            return
          }
          let isFirst = isStopping.withLock { stopping in
            defer { stopping = true }
            return !stopping
          }
          if isFirst {
            log(.notice, "stopping")
            stop()
          }
        }
        source.withLock { $0 = signals }
      } catch {
        log(.error, "\(error.description)")
        loop.stop()
      }
    }
    loop.run()
  }

  static func fail(_ code: ExitCode, _ message: String) -> ExitCode {
    Log.standardError("brewlogd: \(message)\n")
    return code
  }

  private static func printOut(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
  }
}
