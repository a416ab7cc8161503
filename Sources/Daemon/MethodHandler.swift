import BrewlogAPI
import Configuration
import Execution
import JSON
import Platform
import Requests
import Session
import Tips
import Varlink

/// Answers the calls of the contract: decides who may, then hands each method its parameters. The
/// methods themselves, one file each kind, decode, ask and encode; no rule lives in them.
struct MethodHandler: CallHandler {
  let loop: any Ground
  let coordinator: SessionCoordinator
  let requester: ResilientRequester
  let tips: TipService
  let texts: FreshTexts
  let events: EventHub
  let logins: LoginCoordinator
  let revocations: RevocationCoordinator
  let quota: QuotaKeeper
  let access: Access
  let refusals: RefusalLog
  let configuration: DaemonConfiguration
  let log: Log
  let startedAt: Instant
  let conduct: Conduct

  func answer(_ call: Call, from caller: Caller) -> Answer {
    guard let method = MethodTable.method(named: call.method) else {
      return .now(.failure(.methodNotFound(call.method)))
    }
    let verdict = access.verdict(on: method, for: caller.peer)
    guard verdict.allowed else {
      refusals.assumeIsolated { $0.note(method, caller.peer, rule: verdict.rule) }
      return .now(.failure(.permissionDenied))
    }
    do throws(VarlinkError) {
      return try route(method, call, caller)
    } catch {
      return .now(.failure(error))
    }
  }

  /// A tip that is asked for as it is, in the way that nearly all calls ask: in place where the
  /// cache has it fresh. The answer may still be another; then the call goes the usual way.
  func prepare(_ call: Call) -> PreparedAnswer? {
    guard !call.more, !call.oneway, let method = MethodTable.method(named: call.method),
      let key = TipKey(plainCall: method, call.parameters)
    else { return nil }
    // Only what is needed: a copy of all parts for each call would cost more than the call.
    let (access, tips, texts, encode) = (access, tips, texts, encodeText)
    return { caller in
      guard access.allows(method, to: caller.peer) else { return nil }
      if let text = texts.text(of: key, at: SystemClock.wallTime) { return .now(.success(text)) }
      guard let fresh = tips.assumeIsolated({ $0.fresh(key) }), let text = encode(fresh.entry)
      else { return nil }
      texts.put(text, for: key, holds: fresh.holds)
      return .now(.success(text))
    }
  }

  private var encodeText: @Sendable (TipEntry) -> [UInt8]? {
    { entry in
      guard case .success(let bytes) = encode(SnapshotMapping.entry(entry)) else { return nil }
      return bytes
    }
  }

  private func route(
    _ method: APIMethod, _ call: Call, _ caller: Caller
  ) throws(VarlinkError) -> Answer {
    var parameters = ParameterReader(call.parameters)
    switch method {
    case .today: return try today(&parameters, call, caller)
    case .get: return try get(&parameters, caller)
    case .list: return try list(&parameters)
    case .rate: return try rate(&parameters, caller)
    case .status: return try status(&parameters)
    case .inspect: return try inspect(&parameters)
    case .importCredentials: return try importCredentials(&parameters, caller)
    case .refresh: return try refresh(&parameters)
    case .logout: return try logout(&parameters, caller)
    case .resume: return try resume(&parameters, caller)
    case .health: return try health(&parameters)
    case .configuration: return try configuration(&parameters)
    case .metrics: return try metrics(&parameters)
    case .reload: return try reload(&parameters)
    case .canI: return try canI(&parameters, caller)
    case .watch: return try watch(&parameters)
    case .history: return try history(&parameters)
    case .explain: return try explain(&parameters)
    case .login: return try login(&parameters, call, caller)
    case .completeLogin: return try completeLogin(&parameters)
    case .cancelLogin: return try cancelLogin(&parameters)
    case .verifyErasure: return try verifyErasure(&parameters)
    }
  }

  func encode(_ reply: some Encodable) -> Reply {
    do throws(JSONError) {
      return .success(try JSONText.encode(reply))
    } catch {
      return .failure(
        APIError.unavailable(reason: "the reply could not be encoded: \(error.description)")
          .varlinkError)
    }
  }
}
