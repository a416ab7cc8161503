import Execution
import Requests
import Session

/// What the upstream has been asked, and what the script lets become of it.
extension Run {
  struct Pair { var access: String, refresh: String }

  struct OpenExchange {
    let token: String
    let generation: Generation
    /// Nil: it has been sent, and the step in which its answer is waited for is still to come.
    var continuation: CheckedContinuation<ExchangeResult, Never>?
  }

  typealias ExchangeResult = Result<Pair, RefreshFailure>
  /// What the tasks of a process that was killed are told, so that they end.
  static let killed = ExchangeResult.failure(RefreshFailure(.cancelled, reason: "killed"))
  static let killedRequest = Result<HTTPResponse, TransportError>.failure(
    TransportError(.cancelled, reason: "killed"))
  static let killedRevocation = RevocationResult.unavailable(reason: "killed", retryAfter: nil)

  typealias OpenRequest = CheckedContinuation<Result<HTTPResponse, TransportError>, Never>

  private func checkMaySend(_ token: String) {
    if hasStopped { ledger.violate("I7", "\(token) is sent after the stop") }
    if isCopied, !world.continuesOnMove, !ledger.isResumed {
      ledger.violate("I11", "\(token) of a store that was copied is sent")
    }
  }

  // MARK: The token endpoint

  func sendExchange(_ token: String) -> UInt64 {
    say("  upstream: refresh with \(token)")
    checkMaySend(token)
    ledger.exchangeSent(
      token, session: session, generation: generation, disk: disk, binding: binding,
      wallTime: scheduler.wallTime)
    if world.losesNoAnswer { ledger.checkIsNotAnswered(token) }
    let id = nextID()
    // The generation may move between this step and the one in which the answer is waited for, and
    // the process may be killed.
    exchanges[id] = OpenExchange(token: token, generation: generation)
    return id
  }

  func awaitExchange(
    _ id: UInt64, _ token: String, isCancelled: Bool,
    _ continuation: CheckedContinuation<ExchangeResult, Never>
  ) {
    guard exchanges[id] != nil else { return continuation.resume(returning: Self.killed) }
    exchanges[id]?.continuation = continuation
    if isCancelled, !world.isDeaf { return cancelExchange(id) }
    let outcomes = world.exchanges
    scheduler.add(
      PendingEvent(
        id: id, label: { "exchange of \(token)" }, ways: outcomes.map(\.rawValue)
      ) { [unowned self] way in settle(id, token, outcomes[way]) })
  }

  private func settle(_ id: UInt64, _ token: String, _ outcome: World.Exchange) {
    switch outcome {
    case .answered: answer(id, token)
    case .late:
      _ = scheduler.schedule(at: scheduler.now.advanced(by: .seconds(25))) { [unowned self] in
        if exchanges[id] != nil { answer(id, token) }
      }
    case .serverError:
      end(id, .failure(RefreshFailure(.transient, reason: "500", httpStatus: 500)))
    case .busy:
      end(
        id,
        .failure(
          RefreshFailure(
            .transient, reason: "429", httpStatus: 429, retryAfter: .seconds(10))))
    case .unclear: end(id, .failure(RefreshFailure(.refusedUnclearly, reason: "403")))
    case .misconfigured:
      end(id, .failure(RefreshFailure(.misconfigured, reason: "invalid_client")))
    case .requestLost, .answerLost:
      if outcome == .answerLost { _ = server.exchange(token) }
      end(id, .failure(RefreshFailure(.outcomeUnknown, reason: "lost")))
    }
  }

  private func answer(_ id: UInt64, _ token: String) {
    // Whether anybody still waits makes no difference to the server.
    let pair = server.exchange(token)
    if let pair {
      ledger.answeredTokens.insert(token)
      end(id, .success(Pair(access: pair.access, refresh: pair.refresh)))
    } else {
      end(id, .failure(RefreshFailure(.refused, reason: "invalid_grant", httpStatus: 400)))
    }
  }

  private func end(_ id: UInt64, _ result: ExchangeResult) {
    guard let open = exchanges.removeValue(forKey: id) else { return }
    ledger.exchangeEnded()
    if case .failure(let failure) = result, failure.kind != .cancelled, failure.kind != .refused,
      open.generation == generation
    {
      ledger.exchangeFailed(failure, generation: generation, at: scheduler.wallTime)
    }
    if case .failure(let failure) = result, failure.kind == .refused { ledger.mayEnd = true }
    if case .success(let pair) = result {
      ledger.unclear = 0
      if open.generation == generation { ledger.causes.brought = (pair.access, scheduler.wallTime) }
    }
    open.continuation?.resume(returning: result)
  }

  func cancelExchange(_ id: UInt64) {
    guard !world.isDeaf || isDead else { return }
    scheduler.remove(event: id)
    end(id, .failure(RefreshFailure(.cancelled, reason: "cancelled")))
  }

  // MARK: The API

  func sendRequest(_ request: HTTPRequest, _ token: String?) -> UInt64 {
    say("  upstream: \(request.method.rawValue) \(request.url) with \(token ?? "nothing")")
    checkMaySend(token ?? "nothing")
    ledger.requestSent(request, token, session: session, disk: disk, binding: binding)
    return nextID()
  }

  func awaitReply(
    _ id: UInt64, _ request: HTTPRequest, _ token: String?, isCancelled: Bool, by process: Int,
    _ continuation: OpenRequest
  ) {
    guard isAlive(process) else { return continuation.resume(returning: Self.killedRequest) }
    requests[id] = continuation
    if isCancelled { return cancelRequest(id) }
    let replies = apiFaultsLeft > 0 ? world.replies : Array(world.replies.prefix(1))
    scheduler.add(
      PendingEvent(
        id: id, label: { "\(request.url) with \(token ?? "nothing")" },
        ways: replies.map(\.rawValue)
      ) { [unowned self] way in
        reply(id, replies[way], token)
      })
  }

  private func reply(_ id: UInt64, _ reply: World.Reply, _ token: String?) {
    let result: Result<HTTPResponse, TransportError>
    if reply != world.replies[0] { apiFaultsLeft -= 1 }
    switch reply {
    case .answered: result = .success(response(to: token))
    case .busy:
      result = .success(HTTPResponse(status: 503, fields: [HTTPField("Retry-After", "1")]))
    case .outOfScope:
      let challenge = HTTPField("WWW-Authenticate", "Bearer error=\"insufficient_scope\"")
      result = .success(HTTPResponse(status: 401, fields: [challenge]))
    case .serverError: result = .success(HTTPResponse(status: 500))
    case .lost: result = .failure(TransportError(.lost, reason: "lost"))
    case .slow:
      _ = scheduler.schedule(at: scheduler.now.advanced(by: .seconds(10))) { [unowned self] in
        if requests[id] != nil { self.reply(id, .answered, token) }
      }
      return
    }
    requests.removeValue(forKey: id)?.resume(returning: result)
  }

  private func response(to token: String?) -> HTTPResponse {
    guard !world.rejectsAll, let account = server.account(of: token ?? "") else {
      if let token { ledger.causes.rejected(token) }
      return HTTPResponse(status: 401)
    }
    let body = "{\"id\":\"1\",\"title\":\"\(account)\",\"body\":\"b\"}"
    return HTTPResponse(status: 200, body: Array(body.utf8))
  }

  func cancelRequest(_ id: UInt64) {
    scheduler.remove(event: id)
    requests.removeValue(forKey: id)?
      .resume(returning: .failure(TransportError(.cancelled, reason: "cancelled")))
  }

  // MARK: The revocation endpoint

  func revoke(
    _ token: String, by process: Int, _ continuation: CheckedContinuation<RevocationResult, Never>
  ) {
    guard isAlive(process) else { return continuation.resume(returning: Self.killedRevocation) }
    let id = nextID()
    say("  upstream: revocation of \(token)")
    if hasStopped { ledger.violate("I7", "\(token) is revoked after the stop") }
    if world.movesUpstream, incarnation > 0, !ledger.isResumed {
      ledger.violate("I11", "\(token) is revoked at another upstream")
    }
    ledger.revocationSent(token, disk: disk)
    revoking[id] = continuation
    let outcomes = world.revocations
    scheduler.add(
      PendingEvent(
        id: id, label: { "revocation of \(token)" }, ways: outcomes.map(\.rawValue)
      ) { [unowned self] way in
        let result: RevocationResult
        switch outcomes[way] {
        case .done:
          server.revoke(token)
          result = .done
        case .unavailable: result = .unavailable(reason: "503", retryAfter: nil)
        }
        revoking.removeValue(forKey: id)?.resume(returning: result)
      })
  }
}
