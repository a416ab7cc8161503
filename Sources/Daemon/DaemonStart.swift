import Configuration
import Execution
import Glibc
import Platform
import Store
import Systemd

/// Why the daemon does not start: an exit code, and lines that each say what to do.
struct StartFault: Error {
  var code: ExitCode
  var lines: [String]

  init(_ code: ExitCode, _ line: String) {
    self.code = code
    lines = [line]
  }

  init(_ error: ConfigurationError) {
    code = .configuration
    lines = error.problems.map(\.description)
  }
}

/// From a configuration to a daemon that serves, and to its end.
struct DaemonStart {
  let source: ConfigurationSource
  let manager: ServiceManager
  let log: Log
  let decorate: BrewlogDaemon.Decoration

  /// `passed` is a listening socket that the service manager has bound.
  func run(_ passed: Int32?) throws(StartFault) -> ExitCode {
    let configuration: DaemonConfiguration
    do throws(ConfigurationError) {
      configuration = try DaemonConfiguration.load(from: source)
    } catch {
      throw StartFault(error)
    }
    log.setLevel(Log.Level(configuration.log.level))
    let loop: EventLoop
    do throws(SystemError) {
      // Before the first thread, the first file of the store and the first secret.
      try ProcessHardening.apply()
      SignalSource.block([SIGTERM, SIGINT, SIGHUP])
      loop = try EventLoop()
    } catch {
      throw StartFault(.fault, error.description)
    }
    RuntimeExecutors.install(loop)
    let conduct = Conduct(
      loop: loop, manager: manager, source: source, configuration: configuration, log: log)
    let store = try openStore(configuration, conduct.metrics)
    let accounts = AccountNames(asking: AccountNames.names(in: configuration))
    let graph: DaemonGraph
    do throws(DaemonGraph.Fault) {
      graph = try DaemonGraph(
        configuration: configuration, accounts: accounts, loop: loop, store: store,
        conduct: conduct, environment: source.environment, log: log, decorate: decorate)
    } catch {
      throw StartFault(.configuration, error.message)
    }
    if let passed {
      return serve(graph, conduct, on: passed, keeper: nil, configuration)
    }
    let (keeper, raw) = try bind(configuration, accounts, loop)
    return serve(graph, conduct, on: raw, keeper: keeper, configuration)
  }

  private func openStore(
    _ configuration: DaemonConfiguration, _ metrics: DaemonMetrics
  ) throws(StartFault) -> OpenedStore {
    let hooks = StoreHooks { step in
      switch step {
      case .sessionToBeWritten: metrics.beginCommit(at: SystemClock.now)
      case .sessionWritten: metrics.endCommit(at: SystemClock.now)
      default: break
      }
      return nil
    }
    do throws(StoreOpenError) {
      let store = try SQLiteSessionStore.open(
        StoreConfiguration(
          directory: configuration.store.directory, keyFile: configuration.store.keyFile,
          credentialsDirectory: source.environment["CREDENTIALS_DIRECTORY"],
          runtimeDirectory: Listening.directory(of: configuration.socket.path), hooks: hooks))
      for warning in store.warnings { log(.warning, warning) }
      return store
    } catch {
      let code = ExitCode(rawValue: error.exitCode) ?? .fault
      throw StartFault(code, error.message + remedy(code, "Directory= in [Store]"))
    }
  }

  private func bind(
    _ configuration: DaemonConfiguration, _ accounts: AccountNames, _ loop: EventLoop
  ) throws(StartFault) -> (SocketKeeper, listener: Int32) {
    do throws(SocketError) {
      var bound = try Listening.bind(configuration.socket, accounts, log: log)
      let raw = bound.takeListener()?.release() ?? -1
      let keeper = SocketKeeper(
        loop: loop, bound: bound, configuration: configuration.socket, accounts: accounts,
        log: log)
      return (keeper, raw)
    } catch {
      let code: ExitCode = if case .inUse = error { .alreadyRunning } else { .cannotCreate }
      throw StartFault(code, error.description + remedy(code, "Path= in [Socket]"))
    }
  }

  /// Who starts the daemon by hand, as any user, comes here first.
  private func remedy(_ code: ExitCode, _ key: String) -> String {
    guard code == .cannotCreate else { return "" }
    return "; set \(key) to a place that this user may write to"
      + (source.scope == .system ? ", or take those of one user: --user" : "")
  }

  private func serve(
    _ graph: DaemonGraph, _ conduct: Conduct, on raw: Int32, keeper: SocketKeeper?,
    _ configuration: DaemonConfiguration
  ) -> ExitCode {
    let loop = graph.loop
    let result = Locked(ExitCode.fault)
    let path = configuration.socket.path
    Task(executorPreference: loop) {
      do {
        try await graph.start(listener: FileDescriptor(owning: raw))
        await conduct.begin(graph, keeper: keeper, socketPath: path)
      } catch {
        log(.error, "cannot start: \(error)", LogFields(event: "startFailed"))
        result.withLock { $0 = .fault }
        loop.stop()
      }
    }
    let stop: @Sendable () -> Void = {
      Task(executorPreference: loop) {
        let code = await conduct.stop()
        result.withLock { $0 = code }
        loop.stop()
      }
    }
    runUntilStopped(loop, conduct, stop)
    return result.withLock { $0 }
  }

  /// Runs the loop with SIGTERM and SIGINT stopping the daemon in order, once, and SIGHUP reading
  /// the configuration again.
  private func runUntilStopped(
    _ loop: EventLoop, _ conduct: Conduct, _ stop: @escaping @Sendable () -> Void
  ) {
    let isStopping = Locked(false)
    let source = Locked<SignalSource?>(nil)
    loop.perform {
      do throws(SystemError) {
        let signals = try SignalSource(loop: loop, signals: [SIGTERM, SIGINT, SIGHUP]) { signal in
          if signal == SIGHUP {
            // What was wrong has been logged, and there is nobody else to tell.
            Task(executorPreference: loop) { _ = try? await conduct.reload() }
            return
          }
          let isFirst = isStopping.withLock { stopping in
            defer { stopping = true }
            return !stopping
          }
          if isFirst { stop() }
        }
        source.withLock { $0 = signals }
      } catch {
        log(.error, error.description)
        loop.stop()
      }
    }
    loop.run()
  }
}
