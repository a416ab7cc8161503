import Execution
import Requests
import Secrets
import Session
import Tips

/// Ports behind which nothing is: for what only has to decode.
struct IdlePorts: SessionStore, TipStore, TokenEndpoint, Transport {
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

  func inspect() async throws(StoreError) -> PersistedSession { throw .readOnly }

  func fingerprint(of token: borrowing Secret) -> Fingerprint { Fingerprint(text: "") }

  func close() async {}

  func load(session: SessionID, generation: Generation) async throws(StoreError) -> [CachedTip] {
    []
  }

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
