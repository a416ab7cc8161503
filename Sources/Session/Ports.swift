package import Execution
package import Secrets

/// Leave to write for one generation, used once. Only the coordinator can make one
/// (`SessionCoordinator.swift`), so nothing else can reach the store with credentials or tips; the
/// store compares the generation again inside its transaction (I4).
package struct WritePermit: ~Copyable, Sendable {
  package let generation: Generation
  package let session: SessionID

  // Package, since tests of the store have no coordinator; in the sources the coordinator's files
  // alone may use it, which a convention test holds.
  package init(mintedFor generation: Generation, session: SessionID) {
    self.generation = generation
    self.session = session
  }
}

/// Why a store could not do what it was asked.
package enum StoreError: Error, Equatable, Sendable {
  /// The store holds another generation than the permit: the write came too late (I2).
  case generationMoved(stored: Generation)
  /// No space left.
  case full
  /// Another process holds the database longer than the bounded wait.
  case busy
  case readOnly
  /// Any other failure of reading or writing; the text names the file and the result code.
  case failed(String)
  /// The store has been closed; the daemon is stopping.
  case closed

  /// One sentence for a person.
  package var reason: String {
    switch self {
    case .generationMoved(let stored):
      "the store is at generation \(stored.number) already"
    case .full: "the disk that holds the store is full; free some space"
    case .busy: "another process holds the store's database; end it"
    case .readOnly: "the store's file system is read-only"
    case .failed(let detail): detail
    case .closed: "the store is closed: the daemon is stopping"
    }
  }
}

/// How far refreshes are held back: after the n-th failure in a row the next starts no sooner than
/// `notBefore`, whoever asks, restarts included (I8). Belongs to a generation.
package struct BackoffRecord: Hashable, Sendable {
  package var failures: Int
  package var notBefore: WallTime
  /// How long it was when it began: a clock that was set back must not make it longer. Nil where an
  /// earlier version recorded it.
  package var pause: Duration?
  package var reason: String

  package init(failures: Int, notBefore: WallTime, pause: Duration? = nil, reason: String) {
    self.failures = failures
    self.notBefore = notBefore
    self.pause = pause
    self.reason = reason
  }
}

/// What is committed before a refresh token leaves the process: which one, since when, and the
/// how-many-eth try it is. A restart that finds it knows that the outcome is not known (I5).
package struct RefreshIntent: Hashable, Sendable {
  package var token: Fingerprint
  package var startedAt: WallTime
  package var tries: Int

  package init(token: Fingerprint, startedAt: WallTime, tries: Int) {
    self.token = token
    self.startedAt = startedAt
    self.tries = tries
  }
}

/// What a store holds when it is opened.
package struct LoadedSession: ~Copyable, Sendable {
  /// The highest generation that was ever stored, by either database.
  package var generation: Generation
  package var record: SessionRecord?
  package var intent: RefreshIntent?
  package var backoff: BackoffRecord?
  /// Why there is no session, where the store knows ("the store was damaged and set aside as …").
  package var reason: String?
  /// The session was signed in on another machine: the store was copied here, or moved.
  package var isCopied = false
  /// What earlier sessions' ends told, oldest first.
  package var lives: [SessionLife] = []

  package init(
    generation: Generation, record: consuming SessionRecord?, intent: RefreshIntent? = nil,
    backoff: BackoffRecord? = nil, reason: String? = nil, isCopied: Bool = false,
    lives: [SessionLife] = []
  ) {
    self.generation = generation
    self.record = record
    self.intent = intent
    self.backoff = backoff
    self.reason = reason
    self.isCopied = isCopied
    self.lives = lives
  }
}

/// The store as it stands on disk, read back from it.
package struct PersistedSession: Sendable {
  package var generation: Generation
  package var facts: SessionFacts?
  package var accessToken: Fingerprint?
  package var refreshToken: Fingerprint?
  package var intent: RefreshIntent?
  package var backoff: BackoffRecord?
  package var signedOutReason: String?
  package var path: String
  package var schemaVersion: Int
  package var sizeBytes: Int
  package var walSizeBytes: Int
  package var cachedTips: Int
  package var encryption: String
  package var integrity: String
  /// The coordinator's, of these facts.
  package var loginForecast: LoginForecast?

  package init(
    generation: Generation, facts: SessionFacts?, accessToken: Fingerprint?,
    refreshToken: Fingerprint?, intent: RefreshIntent?, backoff: BackoffRecord?,
    signedOutReason: String?, path: String, schemaVersion: Int, sizeBytes: Int,
    walSizeBytes: Int, cachedTips: Int, encryption: String, integrity: String
  ) {
    self.generation = generation
    self.facts = facts
    self.accessToken = accessToken
    self.refreshToken = refreshToken
    self.intent = intent
    self.backoff = backoff
    self.signedOutReason = signedOutReason
    self.path = path
    self.schemaVersion = schemaVersion
    self.sizeBytes = sizeBytes
    self.walSizeBytes = walSizeBytes
    self.cachedTips = cachedTips
    self.encryption = encryption
    self.integrity = integrity
  }
}

/// Where sessions are kept: load, compare-and-commit, destroy. Narrow on purpose: a replicated
/// store can take SQLite's place behind it. Every write is one transaction that compares the
/// generation it was made for with the stored one, and is durable when it returns.
package protocol SessionStore: Sendable {
  func load() async throws(StoreError) -> LoadedSession

  /// Puts a new session in place of what is there. `record.facts.generation` must be above the
  /// stored one, else `generationMoved`; it becomes the stored one. What the old session left is
  /// destroyed.
  func install(_ record: consuming SessionRecord, permit: consuming WritePermit)
    async throws(StoreError)

  /// Records that a refresh token is about to be sent; proves that the store takes writes (I5).
  func recordIntent(_ intent: RefreshIntent, permit: consuming WritePermit)
    async throws(StoreError)

  /// Replaces the pair and clears intent and backoff, in one transaction (I5).
  func commit(_ record: consuming SessionRecord, permit: consuming WritePermit)
    async throws(StoreError)

  /// Records a refresh that failed: clears the intent if `intent` is nil, else keeps it.
  func recordFailure(
    _ backoff: BackoffRecord, intent: RefreshIntent?, permit: consuming WritePermit
  ) async throws(StoreError)

  /// Ends what is stored below `generation`: the session's key first, then tips and rows, WAL
  /// truncated; `generation` becomes the stored one. Does nothing where the store is at or past it.
  func destroy(through generation: Generation, reason: String) async throws(StoreError)

  /// As `install`, and hands the tokens of the session that it replaces to the revocation outbox,
  /// in the same transaction. Returns whether they are in it; a failure there never fails the rest.
  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit,
    revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool

  /// As `destroy`, and hands the tokens that it ends to the revocation outbox, likewise.
  func destroy(
    through generation: Generation, reason: String, revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool

  /// Leaves word outside of the store that the sessions below `generation` have ended, this one
  /// among them: for a logout that could not be made durable. A restart obeys it. Never waits for
  /// the store's thread, which may be what hangs.
  func leaveTombstone(of session: SessionID, through generation: Generation) throws(StoreError)

  /// Whether the replacement of a token with this fingerprint was committed: it is spent.
  func isSpent(_ token: Fingerprint) async throws(StoreError) -> Bool

  /// Takes note that the session lives on this machine now, after a copy was found and accepted.
  func adoptMachine(permit: consuming WritePermit) async throws(StoreError)

  /// Does what an earlier failure left undone, as far as it goes now, and says what is left.
  func settle() async -> StoreHealth

  /// What in the state directory could still give away an earlier session's credentials, one
  /// sentence each; empty: nothing.
  func verifyErasure() async throws(StoreError) -> [String]

  /// Keeps what a session's end told, over logouts; the oldest are dropped.
  func recordLife(_ life: SessionLife) async throws(StoreError)

  /// Reads back what a restart would restore.
  func inspect() async throws(StoreError) -> PersistedSession

  /// The fingerprint of a token, keyed per installation; needs no I/O.
  func fingerprint(of token: borrowing Secret) -> Fingerprint

  /// Ends the store after all that was asked before; later calls throw `closed`.
  func close() async
}

/// What a refresh brought.
package struct GrantedTokens: ~Copyable, Sendable {
  package var access: Secret
  /// Nil: the old refresh token stays.
  package var refresh: Secret?
  /// Nil: the lifetime is not known; the token is used until it is rejected.
  package var lifetime: Duration?
  package var scope: String?
  package var account: String?
  package var refreshLifetime: Duration?

  package init(
    access: consuming Secret, refresh: consuming Secret?, lifetime: Duration?,
    scope: String? = nil, account: String? = nil, refreshLifetime: Duration? = nil
  ) {
    self.access = access
    self.refresh = refresh
    self.lifetime = lifetime
    self.scope = scope
    self.account = account
    self.refreshLifetime = refreshLifetime
  }
}

/// Why a refresh brought nothing, by what it means for the session (`upstream.md`'s table).
package struct RefreshFailure: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The token endpoint refused this refresh token: the session is over.
    case refused
    /// A refusal that names no reason that is known. `simple` servers say no more: over at once;
    /// for `oauth2` the third in a row to the same token ends the session.
    case refusedUnclearly
    /// The configuration is wrong (client, scope, endpoint); not tried again until it changes.
    case misconfigured
    /// The upstream could not be used; the session stays.
    case transient
    /// The request went out and its answer was lost: the token may be spent.
    case outcomeUnknown
    /// The exchange was aborted by us: neither a failure nor a success.
    case cancelled
  }

  package var kind: Kind
  /// One sentence, sanitised, without a token.
  package var reason: String
  package var httpStatus: Int?
  package var retryAfter: Duration?

  package init(_ kind: Kind, reason: String, httpStatus: Int? = nil, retryAfter: Duration? = nil) {
    self.kind = kind
    self.reason = reason
    self.httpStatus = httpStatus
    self.retryAfter = retryAfter
  }
}

/// Where refresh tokens are exchanged. One call sends one request, exactly once; no try is made
/// twice behind the coordinator's back. A cancelled task aborts the exchange.
package protocol TokenEndpoint: Sendable {
  /// Where the tokens that it grants belong (I11).
  var binding: UpstreamBinding { get }

  /// `refreshToken` nil: only the `simple` dialect can ask without one; others throw `refused`.
  func refresh(with refreshToken: consuming Secret?, deadline: Instant)
    async throws(RefreshFailure) -> GrantedTokens
}
