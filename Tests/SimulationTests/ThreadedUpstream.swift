import Execution
import Platform
import Requests
import Secrets
import Session
import Simulation

/// The upstream of a world for real threads: what the script chooses in the simulation is chosen here
/// by chance, and takes a moment of real time.
final class ThreadedUpstream: TokenEndpoint, Transport, TokenRevoker {
  private struct State {
    var server: Server
    var chance: SplitMix
    var openExchanges = 0
    var mostOpen = 0
    var refreshes = 0
  }

  let binding = UpstreamBinding(issuer: "i", clientID: "c", apiOrigin: "http://api")
  private let world: World
  private let sleeper: Sleeper
  private let ground: any Ground
  private let state: Locked<State>

  init(_ world: World, ground: any Ground, seed: UInt64) {
    self.world = world
    self.ground = ground
    sleeper = Sleeper(ground: ground)
    var server = Server()
    server.admit("A", isStale: world.isStale)
    server.admit("B", isStale: false)
    state = Locked(State(server: server, chance: SplitMix(state: seed)))
  }

  /// How many exchanges were open at once, at the most.
  var mostOpen: Int { state.withLock { $0.mostOpen } }
  var refreshes: Int { state.withLock { $0.refreshes } }

  private func pick(_ count: Int) -> Int {
    state.withLock { Int($0.chance.next() % UInt64(max(1, count))) }
  }

  /// Up to two milliseconds; false: cancelled before that, where cancellations are heard.
  private func pass() async -> Bool {
    let moment = ground.now.advanced(by: .microseconds(pick(2_000)))
    guard world.isDeaf else { return await sleeper.sleep(until: moment) }
    await withCheckedContinuation { continuation in
      _ = ground.schedule(at: moment) { continuation.resume() }
    }
    return true
  }

  func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    let token = Dummy.text(refreshToken) ?? "none"
    state.withLock { state in
      state.refreshes += 1
      state.openExchanges += 1
      state.mostOpen = max(state.mostOpen, state.openExchanges)
    }
    let isHeard = await pass()
    state.withLock { $0.openExchanges -= 1 }
    guard isHeard else { throw RefreshFailure(.cancelled, reason: "cancelled") }
    switch world.exchanges[pick(world.exchanges.count)] {
    case .serverError, .busy: throw RefreshFailure(.transient, reason: "500", httpStatus: 500)
    case .unclear: throw RefreshFailure(.refusedUnclearly, reason: "403", httpStatus: 403)
    case .misconfigured: throw RefreshFailure(.misconfigured, reason: "invalid_client")
    case .requestLost: throw RefreshFailure(.outcomeUnknown, reason: "lost")
    case .answerLost:
      _ = state.withLock { $0.server.exchange(token) }
      throw RefreshFailure(.outcomeUnknown, reason: "lost")
    case .answered, .late: break
    }
    guard let pair = state.withLock({ $0.server.exchange(token) }),
      let access = Dummy.secret(pair.access)
    else { throw RefreshFailure(.refused, reason: "invalid_grant", httpStatus: 400) }
    return GrantedTokens(
      access: access, refresh: Dummy.secret(pair.refresh), lifetime: world.lifetime)
  }

  func send(
    _ request: HTTPRequest, bearer: consuming Secret?, deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    let token = Dummy.text(bearer) ?? "none"
    guard await pass() else { throw TransportError(.cancelled, reason: "cancelled") }
    switch world.replies[pick(world.replies.count)] {
    case .serverError, .busy, .outOfScope: return HTTPResponse(status: 500)
    case .lost: throw TransportError(.lost, reason: "lost")
    case .answered, .slow: break
    }
    guard !world.rejectsAll, let account = state.withLock({ $0.server.account(of: token) }) else {
      return HTTPResponse(status: 401)
    }
    let body = "{\"id\":\"1\",\"title\":\"\(account)\",\"body\":\"b\"}"
    return HTTPResponse(status: 200, body: Array(body.utf8))
  }

  func revoke(
    _ token: consuming Secret, isRefreshToken: Bool, deadline: Instant
  ) async -> RevocationResult {
    let text = Dummy.text(token)
    guard await pass() else { return .unavailable(reason: "cancelled", retryAfter: nil) }
    state.withLock { $0.server.revoke(text) }
    return .done
  }
}
