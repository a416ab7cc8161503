/// The reply of a method that says no more than that it is done.
package struct EmptyReply: Codable, Hashable, Sendable {
  package init() {}
}

/// `Session.Status`.
package struct StatusReply: Codable, Hashable, Sendable {
  package var session: Snapshot
  package var counters: Counters
  package var login: LoginAttempt?
  package var pendingRevocations: Int

  package init(
    session: Snapshot, counters: Counters, login: LoginAttempt? = nil, pendingRevocations: Int
  ) {
    self.session = session
    self.counters = counters
    self.login = login
    self.pendingRevocations = pendingRevocations
  }
}

/// `Session.Inspect`: what a restart would restore beside what is in memory, of one moment.
package struct InspectReply: Codable, Hashable, Sendable {
  package var persisted: Snapshot
  package var inMemory: Snapshot
  package var consistent: Bool
  package var store: StoreReport

  package init(persisted: Snapshot, inMemory: Snapshot, consistent: Bool, store: StoreReport) {
    self.persisted = persisted
    self.inMemory = inMemory
    self.consistent = consistent
    self.store = store
  }
}

/// `Session.Login`.
package struct LoginReply: Codable, Hashable, Sendable {
  package var attempt: LoginAttempt?
  package var session: Snapshot?

  package init(attempt: LoginAttempt? = nil, session: Snapshot? = nil) {
    self.attempt = attempt
    self.session = session
  }
}

/// `Session.CompleteLogin`, `ImportCredentials`, `Refresh` and `Resume`.
package struct SessionReply: Codable, Hashable, Sendable {
  package var session: Snapshot

  package init(session: Snapshot) {
    self.session = session
  }
}

package typealias CompleteLoginReply = SessionReply
package typealias ImportCredentialsReply = SessionReply
package typealias RefreshReply = SessionReply
package typealias ResumeReply = SessionReply

/// What becomes of the tokens of a session that was ended.
package enum Revocation: OpenName {
  case queued, notQueued, skipped, unsupported
  case unknown(String)

  package static let known: [Revocation] = [.queued, .notQueued, .skipped, .unsupported]

  package var name: String {
    switch self {
    case .queued: "queued"
    case .notQueued: "notQueued"
    case .skipped: "skipped"
    case .unsupported: "unsupported"
    case .unknown(let name): name
    }
  }
}

/// `Session.Logout`.
package struct LogoutReply: Codable, Hashable, Sendable {
  package var previousGeneration: Int
  package var generation: Int
  package var revocation: Revocation

  package init(previousGeneration: Int, generation: Int, revocation: Revocation) {
    self.previousGeneration = previousGeneration
    self.generation = generation
    self.revocation = revocation
  }
}

/// `Session.VerifyErasure`.
package struct VerifyErasureReply: Codable, Hashable, Sendable {
  package var clean: Bool
  package var findings: [String]

  package init(clean: Bool, findings: [String]) {
    self.clean = clean
    self.findings = findings
  }
}

/// `Session.Explain`.
package struct ExplainReply: Codable, Hashable, Sendable {
  package var sentence: String
  package var nextStep: String?
  package var evidence: [Event]

  package init(sentence: String, nextStep: String? = nil, evidence: [Event]) {
    self.sentence = sentence
    self.nextStep = nextStep
    self.evidence = evidence
  }
}

/// `Session.Watch`, one for each event.
package struct WatchReply: Codable, Hashable, Sendable {
  package var event: Event

  package init(event: Event) {
    self.event = event
  }
}

/// `Session.History`, newest first.
package struct HistoryReply: Codable, Hashable, Sendable {
  package var events: [Event]

  package init(events: [Event]) {
    self.events = events
  }
}

/// `Tips.Today` and `Tips.Get`.
package typealias TodayReply = Entry
package typealias GetReply = Entry

/// `Tips.List`; `next` is passed back as `before`.
package struct ListReply: Codable, Hashable, Sendable {
  package var entries: [Entry]
  package var next: String?

  package init(entries: [Entry], next: String? = nil) {
    self.entries = entries
    self.next = next
  }
}

/// `Service.Health`.
package struct HealthReply: Codable, Hashable, Sendable {
  package var ready: Bool
  package var checks: [Check]
  package var uptimeSeconds: Int

  package init(ready: Bool, checks: [Check], uptimeSeconds: Int) {
    self.ready = ready
    self.checks = checks
    self.uptimeSeconds = uptimeSeconds
  }
}

/// `Service.Metrics`, in the OpenMetrics text format.
package struct MetricsReply: Codable, Hashable, Sendable {
  package var openMetrics: String

  package init(openMetrics: String) {
    self.openMetrics = openMetrics
  }
}

/// `Service.Configuration`.
package struct ConfigurationReply: Codable, Hashable, Sendable {
  package var settings: [Setting]

  package init(settings: [Setting]) {
    self.settings = settings
  }
}

/// `Service.Reload`.
package struct ReloadReply: Codable, Hashable, Sendable {
  package var changed: [Setting]

  package init(changed: [Setting]) {
    self.changed = changed
  }
}

/// `Service.CanI`.
package struct CanIReply: Codable, Hashable, Sendable {
  package var allowed: Bool
  package var rule: String
  package var remedy: String?

  package init(allowed: Bool, rule: String, remedy: String? = nil) {
    self.allowed = allowed
    self.rule = rule
    self.remedy = remedy
  }
}
