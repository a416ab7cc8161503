import Configuration
import Platform
import Store

/// What changes the keys of a store on which no daemon runs.
extension BrewlogDaemon {
  /// Gives the store a new master key.
  static func rekey(
    _ configuration: DaemonConfiguration, _ environment: [String: String],
    recoveryKeyFile: String?
  ) -> ExitCode {
    changeKeys(configuration, environment) { (store) throws(StoreOpenError) in
      let report = try StoreKeys.rekey(store, recoveryKeyFile: recoveryKeyFile)
      tell(report.warnings)
      printOut("the store opens by a new key now: \(report.source)\n")
      if report.revokedRecoveryKeys > 0 {
        printOut("recovery keys that no longer open it: \(report.revokedRecoveryKeys)\n")
      }
    }
  }

  /// Gives the store one more key, for the day on which the master key is lost.
  static func addRecoveryKey(
    _ configuration: DaemonConfiguration, _ environment: [String: String], to path: String
  ) -> ExitCode {
    changeKeys(configuration, environment) { (store) throws(StoreOpenError) in
      tell(try StoreKeys.addRecoveryKey(store, to: path))
      printOut(
        "\(path) holds a recovery key: keep it elsewhere than this host; should the master key be "
          + "lost, use it by `brewlogd --rekey --recovery-key FILE`\n")
    }
  }

  private static func changeKeys(
    _ configuration: DaemonConfiguration, _ environment: [String: String],
    _ body: (StoreConfiguration) throws(StoreOpenError) -> Void
  ) -> ExitCode {
    do throws(SystemError) {
      // Before the first secret.
      try ProcessHardening.apply()
    } catch {
      return fail(.fault, error.description)
    }
    do throws(StoreOpenError) {
      try body(
        StoreConfiguration(
          directory: configuration.store.directory, keyFile: configuration.store.keyFile,
          credentialsDirectory: environment["CREDENTIALS_DIRECTORY"],
          runtimeDirectory: Listening.directory(of: configuration.socket.path)))
      return .stopped
    } catch {
      return fail(ExitCode(rawValue: error.exitCode) ?? .fault, error.message)
    }
  }

  private static func tell(_ warnings: [String]) {
    for warning in warnings { Log.standardError("brewlogd: \(warning)\n") }
  }
}
