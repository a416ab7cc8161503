import Execution
import Platform
import Secrets
import Session

/// What opening the store gives.
package struct OpenedStore: Sendable {
  package let sessions: SQLiteSessionStore
  package let tips: SQLiteTipStore
  /// What was put right on the way (modes), for the log.
  package let warnings: [String]

  /// Looks at the whole of the tip store, which opening it has left for later. Says what was put
  /// right, for the log.
  package func checkTips() async -> [String] { await sessions.checkTips() }
}

/// The store's parts, which live on the store's thread together.
final class StoreParts {
  let configuration: StoreConfiguration
  let directory: StateDirectory
  /// Held for as long as the store is open: one daemon for one directory.
  var lock: LockFile?
  var keyring: Keyring
  let keySource: KeySource
  /// Nil once closed.
  var session: Database?
  var tips: Database?
  /// Whether the whole of `tips.db` has been looked at since it was opened.
  private var tipsAreChecked = false
  var keys: SessionKeys { SessionKeys(directory: directory) }

  init(
    configuration: StoreConfiguration, directory: StateDirectory, lock: consuming LockFile,
    keyring: consuming Keyring, keySource: KeySource
  ) {
    self.configuration = configuration
    self.directory = directory
    self.lock = consume lock
    self.keyring = keyring
    self.keySource = keySource
  }

  var now: WallTime { configuration.clock() }

  func file(_ name: String, _ schema: Schema, _ level: Database.Synchronous) -> DatabaseFile {
    var options = Database.Options()
    options.synchronous = level
    options.vfs = configuration.vfs
    options.busyTimeout = configuration.busyTimeout
    return DatabaseFile(
      directory: directory, name: name, schema: schema, options: options, now: now)
  }

  /// Tips can be fetched again, so a commit of theirs need not reach the disk at once; what a power
  /// cut may bring back is purged by its session's id. Nor does a start wait until thousands of them
  /// have been looked at: `checkTips` does that later.
  func openTips(warnings: inout [String]) throws(StoreOpenError) {
    var file = file(FileName.tips, .tips, .normal)
    file.checksIntegrity = false
    let opened = try file.open(warnings: &warnings)
    tips = opened.database
    tipsAreChecked = false
    if let name = opened.setAside { warnings.append(Self.tipsSetAside(name)) }
  }

  /// Looks at every page of the tip store, once; found damaged it is set aside, and a new one made.
  func checkTips(warnings: inout [String]) throws(StoreOpenError) {
    guard !tipsAreChecked, let tips else { return }
    do throws(SQLiteError) {
      switch try tips.integrity() {
      case .whole: tipsAreChecked = true
      case .damaged: break
      case .unfinished:
        warnings.append(DatabaseFile.unfinished(FileName.tips))
        tipsAreChecked = true
      }
    } catch {
      guard error.meansDamage else { throw StoreOpenError(error) }
    }
    if !tipsAreChecked { try replaceDamagedTips(warnings: &warnings) }
  }

  /// Sets the tip store aside while it is open, and starts a new one.
  func replaceDamagedTips(warnings: inout [String]) throws(StoreOpenError) {
    tips?.keepLogOnClose(true)
    tips?.close()
    warnings.append(Self.tipsSetAside(try file(FileName.tips, .tips, .normal).setAside()))
    try openTips(warnings: &warnings)
    tipsAreChecked = true
  }

  private static func tipsSetAside(_ name: String) -> String {
    "the tip store was damaged and set aside as \(name)"
  }

  /// A new session store starts above every generation that the tip store remembers.
  func openSession(warnings: inout [String]) throws(StoreOpenError) {
    let highest = try highestGeneration(warnings: &warnings)
    session = try file(FileName.session, .session, .full).open(
      warnings: &warnings,
      beforeSettingAside: { () throws(StoreOpenError) in try destroyKeys() },
      initialise: { (database, setAside) throws(SQLiteError) in
        let reason = setAside.map { "the store was damaged and set aside as \($0)" }
        let first = highest == .none ? highest : highest.next
        try database.setStoreState(StoreState(generation: first, signedOutReason: reason))
      }
    ).database
  }

  private func highestGeneration(warnings: inout [String]) throws(StoreOpenError) -> Generation {
    do throws(SQLiteError) {
      return try tips?.fence().highest ?? .none
    } catch {
      guard error.meansDamage else { throw StoreOpenError(error) }
    }
    try replaceDamagedTips(warnings: &warnings)
    return .none
  }

  /// Sets the session store aside while it is open, and starts a new one.
  func replaceDamagedSession() throws(StoreOpenError) {
    session?.keepLogOnClose(true)
    session?.close()
    session = nil
    try destroyKeys()
    let damaged = try file(FileName.session, .session, .full).setAside()
    var warnings: [String] = []
    try openSession(warnings: &warnings)
    do throws(SQLiteError) {
      guard let session else { return }
      var state = try session.storeState()
      state.signedOutReason = "the store was damaged and set aside as \(damaged)"
      try session.setStoreState(state)
    } catch {
      throw StoreOpenError(error)
    }
  }

  private func destroyKeys() throws(StoreOpenError) {
    do throws(DirectoryError) {
      try keys.destroyAll(but: nil)
    } catch {
      throw StoreOpenError(error)
    }
  }
}

/// The thread that every part of the store runs on; it ends with the last of them. A simulation has
/// an executor of its own in its place.
final class StoreThread: Sendable {
  let executor: any SerialExecutor
  private let thread: ThreadExecutor?

  init(_ given: (any SerialExecutor)?) {
    if let given {
      executor = given
      thread = nil
    } else {
      let own = ThreadExecutor(name: "brewlog-store")
      executor = own
      thread = own
    }
  }

  deinit {
    thread?.stop()
  }
}
