import Execution
import Requests
import Secrets
import Session
import Tips

/// Ports behind which nothing is: for what only has to decode.
struct IdlePorts: SessionStore, EventJournal, RevocationOutbox, TipStore, TokenEndpoint, Transport {
  var binding: UpstreamBinding {
    UpstreamBinding(issuer: "", clientID: "", apiOrigin: "http://127.0.0.1")
  }

  func load() async throws(StoreError) -> LoadedSession {
    LoadedSession(generation: .none, record: nil)
  }

  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) async throws(StoreError) { throw .readOnly }

  func recordIntent(
    _ intent: RefreshIntent, permit: consuming WritePermit
  ) async throws(StoreError) { throw .readOnly }

  func commit(
    _ record: consuming SessionRecord, permit: consuming WritePermit
  ) async throws(StoreError) { throw .readOnly }

  func recordFailure(
    _ backoff: BackoffRecord, intent: RefreshIntent?, permit: consuming WritePermit
  ) async throws(StoreError) { throw .readOnly }

  func destroy(through generation: Generation, reason: String) async throws(StoreError) {}

  func install(
    _ record: consuming SessionRecord, permit: consuming WritePermit,
    revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool { throw .readOnly }

  func destroy(
    through generation: Generation, reason: String, revoking old: consuming SessionRecord?
  ) async throws(StoreError) -> Bool { false }

  func leaveTombstone(of session: SessionID, through generation: Generation) throws(StoreError) {}

  func isSpent(_ token: Fingerprint) async throws(StoreError) -> Bool { false }

  func adoptMachine(permit: consuming WritePermit) async throws(StoreError) {}

  func settle() async -> StoreHealth { StoreHealth() }

  func verifyErasure() async throws(StoreError) -> [String] { [] }

  func inspect() async throws(StoreError) -> PersistedSession { throw .readOnly }

  func fingerprint(of token: borrowing Secret) -> Fingerprint { Fingerprint(text: "") }

  func close() async {}

  func add(_ record: consuming SessionRecord) async throws(StoreError) {}

  func pending() async throws(StoreError) -> [PendingRevocation] { [] }

  func tokens(of id: Int64) async throws(StoreError) -> TokenPair? { nil }

  func recordTry(of id: Int64) async throws(StoreError) {}

  func remove(_ id: Int64) async throws(StoreError) {}

  func forgetAll() async throws(StoreError) {}

  func lastSequence() async throws(StoreError) -> Int64 { 0 }

  func append(_ events: [EventRecord]) async throws(StoreError) {}

  func newest(limit: Int) async throws(StoreError) -> [EventRecord] { [] }

  func load(session: SessionID, generation: Generation) async throws(StoreError) -> [CachedTip] {
    []
  }

  func stored(
    _ key: TipKey, session: SessionID, generation: Generation
  ) async throws(StoreError) -> CachedTip? { nil }

  func put(_ tip: CachedTip, permit: consuming WritePermit) async throws(StoreError) {}

  func prune(keep: Int) async throws(StoreError) {}

  func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    throw RefreshFailure(.transient, reason: "nothing is there")
  }

  func send(
    _ request: HTTPRequest, bearer: consuming Secret?, deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    throw TransportError(.unreachable, reason: "nothing is there")
  }
}
