import Execution
import Requests
import Secrets
import Session

/// The token endpoint: each exchange is pending until the script says what becomes of it.
final class SimulatedEndpoint: TokenEndpoint {
  private let run: Run
  private let incarnation: Int
  let binding: UpstreamBinding

  init(run: Run, incarnation: Int) {
    self.run = run
    self.incarnation = incarnation
    binding = run.binding
  }

  func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    guard run.isAlive(incarnation) else { throw RefreshFailure(.cancelled, reason: "killed") }
    let token = Dummy.text(refreshToken) ?? "none"
    let id = run.sendExchange(token)
    let outcome: Run.ExchangeResult = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        run.awaitExchange(id, token, isCancelled: Task.isCancelled, continuation)
      }
    } onCancel: {
      run.cancelExchange(id)
    }
    switch outcome {
    case .failure(let failure): throw failure
    case .success(let pair):
      guard let access = Dummy.secret(pair.access) else {
        throw RefreshFailure(.transient, reason: "no memory")
      }
      return GrantedTokens(
        access: access, refresh: Dummy.secret(pair.refresh), lifetime: run.world.lifetime)
    }
  }
}

/// The API: likewise.
final class SimulatedTransport: Transport {
  private let run: Run
  private let incarnation: Int

  init(run: Run, incarnation: Int) {
    self.run = run
    self.incarnation = incarnation
  }

  func send(
    _ request: HTTPRequest, bearer: consuming Secret?, deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    guard run.isAlive(incarnation) else { throw TransportError(.cancelled, reason: "killed") }
    let token = Dummy.text(bearer)
    let id = run.sendRequest(request, token)
    let outcome: Result<HTTPResponse, TransportError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        run.awaitReply(
          id, request, token, isCancelled: Task.isCancelled, by: incarnation, continuation)
      }
    } onCancel: {
      run.cancelRequest(id)
    }
    return try outcome.get()
  }
}

/// The revocation endpoint.
final class SimulatedRevoker: TokenRevoker {
  private let run: Run
  private let incarnation: Int
  let binding: UpstreamBinding

  init(run: Run, incarnation: Int) {
    self.run = run
    self.incarnation = incarnation
    binding = run.binding
  }

  func revoke(
    _ token: consuming Secret, isRefreshToken: Bool, deadline: Instant
  ) async -> RevocationResult {
    guard run.isAlive(incarnation) else { return .unavailable(reason: "killed", retryAfter: nil) }
    let text = Dummy.text(token)
    return await withCheckedContinuation { run.revoke(text, by: incarnation, $0) }
  }
}
