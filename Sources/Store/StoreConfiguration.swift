package import Execution
import Platform
package import Session

/// Where the store is, and what it is given from outside.
package struct StoreConfiguration: Sendable {
  /// The state directory; made if it is missing.
  package var directory: String
  /// Where the master key lies where there is no credential; nil: `master.key` in the directory.
  package var keyFile: String?
  /// `$CREDENTIALS_DIRECTORY`; a file `brewlog.key` in it wins over the key file.
  package var credentialsDirectory: String?
  /// Where the tombstone of a logout goes that could not be made durable; nil: there is none.
  package var runtimeDirectory: String?
  /// Where the machine's id stands, machine-id(5).
  package var machineIDPath: String
  /// How long a write waits for another process that holds the database.
  package var busyTimeout: Duration
  /// Another SQLite VFS by its name; for fault injection.
  package var vfs: String?
  package var hooks: StoreHooks
  package var clock: @Sendable () -> WallTime

  package init(
    directory: String, keyFile: String? = nil, credentialsDirectory: String? = nil,
    runtimeDirectory: String? = nil, machineIDPath: String = "/etc/machine-id",
    busyTimeout: Duration = .seconds(5), vfs: String? = nil, hooks: StoreHooks = StoreHooks(),
    clock: @escaping @Sendable () -> WallTime = { SystemClock.wallTime }
  ) {
    self.directory = directory
    self.keyFile = keyFile
    self.credentialsDirectory = credentialsDirectory
    self.runtimeDirectory = runtimeDirectory
    self.machineIDPath = machineIDPath
    self.busyTimeout = busyTimeout
    self.vfs = vfs
    self.hooks = hooks
    self.clock = clock
  }
}

/// A point in the store's work at which a test can hold it, or make it fail.
package enum StoreStep: String, CaseIterable, Sendable {
  case keyFileWritten, keysToBeDestroyed, keysDestroyed
  case tipsFenceMoved
  case sessionToBeWritten, sessionWritten
  case rescueToBeWritten, rescueWritten, rescueCleared
  case logsEmptied
}

/// Named points for tests: the closure runs on the store's thread, may block it (a hold), and
/// returns what the step shall fail with, nil to go on. In the daemon it does nothing.
package struct StoreHooks: Sendable {
  package var reached: @Sendable (StoreStep) -> StoreError?

  package init(reached: @escaping @Sendable (StoreStep) -> StoreError? = { _ in nil }) {
    self.reached = reached
  }

  func reach(_ step: StoreStep) throws(StoreError) {
    if let error = reached(step) { throw error }
  }
}
