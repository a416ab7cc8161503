import Execution
import Platform
import Requests
import Secrets
import Session
import Upstream

/// The way to the upstream: the present transport, counted and timed, and whether the upstream is
/// there. A reload puts another transport in its place; what is on its way ends on the old one.
///
/// It is shut until ``open()``: the service manager hears READY before any upstream work, whatever
/// the session's timers want.
actor MonitoredTransport: Transport {
  /// The upstream's comings and goings.
  enum Reach: Equatable, Sendable {
    case away(since: WallTime, reason: String)
    case back
  }

  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let loop: EventLoop
  private let metrics: DaemonMetrics
  private let report: @Sendable (Reach) -> Void
  private var present: CurlTransport
  private var retired: [CurlTransport] = []
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []
  /// Since when no request has reached the upstream, while that is so.
  private(set) var awaySince: WallTime?

  init(
    loop: EventLoop, transport: CurlTransport, metrics: DaemonMetrics,
    report: @escaping @Sendable (Reach) -> Void
  ) {
    self.loop = loop
    self.metrics = metrics
    self.report = report
    present = transport
    unownedExecutor = loop.asUnownedSerialExecutor()
  }

  func open() {
    isOpen = true
    let waiters = waiting
    waiting = []
    for waiter in waiters { waiter.resume() }
  }

  func send(
    _ request: HTTPRequest, bearer: consuming Secret?, deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    if !isOpen { await withCheckedContinuation { waiting.append($0) } }
    let started = loop.now
    let purpose: UpstreamPurpose = request.holdsSecrets ? .token : .tips
    do throws(TransportError) {
      let response = try await present.send(request, bearer: bearer, deadline: deadline)
      note(purpose, UpstreamOutcome(status: response.status), since: started)
      reached(response.status < 500 ? nil : "the upstream answers HTTP \(response.status)")
      return response
    } catch {
      note(purpose, UpstreamOutcome(error.kind), since: started)
      switch error.kind {
      case .unreachable, .lost: reached(error.reason)
      case .forbidden, .malformed, .invalidURL, .cancelled: break
      }
      throw error
    }
  }

  private func note(_ purpose: UpstreamPurpose, _ outcome: UpstreamOutcome, since start: Instant) {
    metrics.countUpstream(purpose, outcome, took: start.duration(to: loop.now))
    closeRetired()
  }

  private func reached(_ fault: String?) {
    if let fault {
      guard awaySince == nil else { return }
      let since = loop.wallTime
      awaySince = since
      report(.away(since: since, reason: fault))
    } else if awaySince != nil {
      awaySince = nil
      report(.back)
    }
  }

  /// From a reload.
  func use(_ transport: CurlTransport) {
    retired.append(present)
    present = transport
    closeRetired()
  }

  private func closeRetired() {
    guard !retired.isEmpty else { return }
    retired.removeAll { old in
      old.assumeIsolated { old in
        if old.inFlight > 0 { return false }
        old.close()
        return true
      }
    }
  }

  var inFlight: Int {
    ([present] + retired).reduce(0) { $0 + $1.assumeIsolated { $0.inFlight } }
  }

  func close() {
    open()
    for transport in retired + [present] { transport.assumeIsolated { $0.close() } }
    retired = []
  }
}

/// The token endpoint of the present configuration; another after a reload. An exchange ends with
/// the one that it began with.
final class ReplaceableEndpoint: TokenEndpoint {
  private let present: Locked<any TokenEndpoint>

  init(_ endpoint: any TokenEndpoint) {
    present = Locked(endpoint)
  }

  var binding: UpstreamBinding { present.withLock { $0 }.binding }

  func use(_ endpoint: any TokenEndpoint) {
    present.withLock { $0 = endpoint }
  }

  func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    let endpoint = present.withLock { $0 }
    return try await endpoint.refresh(with: refreshToken, deadline: deadline)
  }
}
