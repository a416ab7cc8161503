import JSON

/// What an entry of the journal says to programs, beside its text for people. Names and ids are
/// part of the interface: `journalctl BREWLOG_EVENT=signedOut`, and brewlogd(8) lists them.
package struct LogFields: Equatable, Sendable {
  /// `BREWLOG_EVENT`: a session event's kind, or one of the daemon's own.
  package var event: String?
  /// `BREWLOG_GENERATION`.
  package var generation: UInt64?
  /// `BREWLOG_UPSTREAM_STATUS`: the HTTP status that caused it.
  package var upstreamStatus: Int?
  /// Whose call it was.
  package var actorUID: UInt32?
  /// Never held back, however often it comes: a session's begin and end are evidence.
  package var isEvidence = false

  package init(
    event: String? = nil, generation: UInt64? = nil, upstreamStatus: Int? = nil,
    actorUID: UInt32? = nil, isEvidence: Bool = false
  ) {
    self.event = event
    self.generation = generation
    self.upstreamStatus = upstreamStatus
    self.actorUID = actorUID
    self.isEvidence = isEvidence
  }

  func entry(level: Log.Level, message: String) -> [(name: String, value: String)] {
    var entry = [
      (name: "MESSAGE", value: message), (name: "PRIORITY", value: String(level.rawValue)),
      (name: "SYSLOG_IDENTIFIER", value: "brewlogd"),
    ]
    if let event {
      entry.append((name: "BREWLOG_EVENT", value: TextSanitizer.clean(event, limit: 64)))
      if let id = MessageID.of(event) { entry.append((name: "MESSAGE_ID", value: id)) }
    }
    if let generation { entry.append((name: "BREWLOG_GENERATION", value: String(generation))) }
    if let upstreamStatus {
      entry.append((name: "BREWLOG_UPSTREAM_STATUS", value: String(upstreamStatus)))
    }
    if let actorUID { entry.append((name: "BREWLOG_ACTOR_UID", value: String(actorUID))) }
    return entry
  }
}

/// The journal's ids of our messages, systemd.journal-fields(7): made once at random, never changed,
/// never given to another event.
enum MessageID {
  static func of(_ event: String) -> String? { ids[event] }

  static let ids = [
    "signedIn": "4b3a5b89318441dc98c57d72a6ca0ca6",
    "imported": "eb73157e39ee4b9abf1aa4c3dbc05754",
    "refreshStarted": "784f6caa048a4672920584c88b87646a",
    "refreshSucceeded": "c04aa643325d4089b0156eafc2ca93f4",
    "refreshFailed": "2404b1972533405494c8d53efe6d4339",
    "lateResultRejected": "8f026230c3614a0b8e578170721e5d30",
    "signedOut": "c6e3d7bffc4e4627a7052374e5f6cd14",
    "suspended": "2e43fe4ca6874350a55139bf8eb60079",
    "resumed": "bf4482940b0c47e48328a25705095a6c",
    "storeDegraded": "9114a3cd20864237bab1e7cbd1e27900",
    "storeHealed": "9883bcadc05f4f15abc15d8834213a3c",
    "loginPending": "896cbb1c76c549a49611f878e8be6acc",
    "loginFailed": "d9602bc85af144b59b92e14fcb62e86b",
    "revocationDone": "5c71d0a8a429498185bedaf2363212f8",
    "revocationFailed": "50220e836b4242da836503e762d04d64",
    "upstreamAway": "db9e9a88feab438ca6cd4a96d2351e6a",
    "upstreamBack": "e40cd5344fba4f2e9d7ffb987d8541b9",
    "startFailed": "82d19aab1e42488689a2b60005e933a9",
    "started": "1cefa583857d425db2157a499cb3847a",
    "stopping": "d39e56ddcbf544c9816b564329ba0ed8",
    "configurationChanged": "1f083f04c8b2490dadc03daa9ab8af84",
    "configurationRefused": "8d838bd9ff2145b99ac32ec78692f10a",
    "socketRestored": "24fa59c7b8e14926a3ccd9142dda6022",
  ]
}
