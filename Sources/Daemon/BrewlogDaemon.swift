import Configuration
import Glibc
import Platform
package import Session
import Systemd

/// The program: from a command line to an exit code.
package enum BrewlogDaemon {
  package static let version = "0.1.0"

  /// Puts something in the token endpoint's place: a daemon that fails on purpose is the tests'.
  package typealias Decoration = @Sendable (any TokenEndpoint) -> any TokenEndpoint

  package static func main(decorating decorate: @escaping Decoration = { $0 }) -> Never {
    do throws(SystemError) {
      try StandardDescriptors.occupy()
    } catch {
      exit(fail(.fault, error.description).rawValue)
    }
    exit(
      run(
        Array(CommandLine.arguments.dropFirst()), environment: Environment.present,
        decorating: decorate
      ).rawValue)
  }

  static func run(
    _ arguments: [String], environment: [String: String],
    decorating decorate: @escaping Decoration = { $0 }
  ) -> ExitCode {
    let log = Log(level: .info, form: .fitting(environment))
    let options: DaemonOptions
    do throws(DaemonOptions.UsageError) {
      options = try DaemonOptions.parse(arguments)
    } catch {
      if let passed = try? takePassedSocket() { Listening.turnAway(passed) }
      return fail(.usage, error.message)
    }
    switch options.action {
    case .help:
      printOut(DaemonOptions.help)
      return .stopped
    case .version:
      printOut("brewlogd \(version)\n")
      return .stopped
    case .run: return serve(source(options, environment), log, decorate)
    case .checkConfiguration, .rekey, .addRecoveryKey: break
    }
    let configuration: DaemonConfiguration
    do throws(ConfigurationError) {
      configuration = try DaemonConfiguration.load(from: source(options, environment))
    } catch {
      for problem in error.problems { Log.standardError("brewlogd: \(problem.description)\n") }
      return .configuration
    }
    switch options.action {
    case .rekey:
      return rekey(configuration, environment, recoveryKeyFile: options.recoveryKeyFile)
    case .addRecoveryKey(let file): return addRecoveryKey(configuration, environment, to: file)
    case .run, .checkConfiguration, .help, .version:
      printOut("the configuration is valid\n")
      return .stopped
    }
  }

  private static func source(
    _ options: DaemonOptions, _ environment: [String: String]
  ) -> ConfigurationSource {
    ConfigurationSource(
      scope: options.isUser ? .user(Accounts.ownUserID) : .system, instance: options.instance,
      file: options.configurationFile, environment: environment)
  }

  /// A service from here on: faults go to the log and to the service manager.
  private static func serve(
    _ source: ConfigurationSource, _ log: Log, _ decorate: @escaping Decoration
  ) -> ExitCode {
    let manager = ServiceManager { log(.warning, $0) }
    var passed: Int32?
    do throws(StartFault) {
      // First, so that no fault leaves those who wait at it unanswered.
      passed = try takePassedSocket()
      return try DaemonStart(
        source: source, manager: manager, log: log, decorate: decorate
      ).run(passed)
    } catch {
      for line in error.lines { log(.error, line, LogFields(event: "startFailed")) }
      manager.notify(.status(error.lines.last ?? "the start failed"))
      if let passed, error.code != .fault { Listening.turnAway(passed) }
      return error.code
    }
  }

  /// The number of a socket that is this process's own from now on.
  private static func takePassedSocket() throws(StartFault) -> Int32? {
    do throws(PassedSocketError) {
      guard let passed = try ServiceManager.takePassedSocket() else { return nil }
      return passed.takeListener().release()
    } catch {
      throw StartFault(.configuration, error.description)
    }
  }

  static func fail(_ code: ExitCode, _ message: String) -> ExitCode {
    Log.standardError("brewlogd: \(message)\n")
    return code
  }

  static func printOut(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
  }
}
