import Glibc

/// The port could not be opened.
package struct DemoUpstreamError: Error, CustomStringConvertible {
  package let port: UInt16
  package let code: Int32

  package var description: String {
    let reason = code == 0 ? "no reason was given" : String(cString: strerror(code))
    return "cannot listen on 127.0.0.1:\(port): \(reason)"
  }
}

/// A small HTTP API that serves brewing tips to one signed-in account, on 127.0.0.1: the upstream
/// of `make demo`, and of every test that needs one. Tests script it request by request; where no
/// step is left, it does what a good server would.
///
/// It starts with "dummy-access-0" and "dummy-refresh-0"; each refresh counts on. It may be used
/// from any thread, and ends with its last reference or ``close()``.
package final class DemoUpstream: Sendable {
  private let server: Server

  package init(_ options: DemoOptions = DemoOptions()) throws(DemoUpstreamError) {
    server = Server(options)
    try server.start(port: options.port)
  }

  deinit {
    server.stop()
  }

  package var port: UInt16 { server.port }
  /// `http://127.0.0.1:PORT`.
  package var baseURL: String { "http://127.0.0.1:\(port)" }

  /// The upstream is gone: what is under way is cut off, and nobody listens. Not to be called by
  /// two threads at once, nor at the same time as ``reopen()``.
  package func close() { server.stop() }

  /// The upstream is back, at the same port, with the same account.
  package func reopen() throws(DemoUpstreamError) { try server.start(port: server.port) }

  // MARK: The script

  /// Adds steps for the next requests of that method and path (without query), one for each.
  package func script(_ method: Method, _ path: String, _ steps: [Step]) {
    server.monitor.withLock {
      $0.scripts[.init(method: method, path: path), default: []] += steps
    }
  }

  /// What all such requests get once the steps are used up. Nil: what the service does by itself.
  package func always(_ method: Method, _ path: String, _ step: Step?) {
    server.monitor.withLock { $0.standing[.init(method: method, path: path)] = step }
  }

  /// How many steps are left for a route.
  package func stepsLeft(_ method: Method, _ path: String) -> Int {
    server.monitor.withLock { $0.scripts[.init(method: method, path: path)]?.count ?? 0 }
  }

  /// Lets go all requests that are held under this name, and all that will come to it.
  package func release(_ name: String) { server.release(name) }

  /// Returns when so many requests have come to the hold (or the stall) of this name; at once if
  /// they have already. Also returns when the upstream is closed.
  package func arrived(_ name: String, count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isThere = server.monitor.withLock { state in
        if state.isStopping || state.arrivals[name, default: 0] >= count { return true }
        state.waiters.append(.init(name: name, count: count, continuation: continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// The same for a thread that may block. False: not in that time.
  package func waitForHold(_ name: String, count: Int = 1, timeout: Duration = .seconds(30))
    -> Bool
  {
    wait(timeout) { $0.arrivals[name, default: 0] >= count }
  }

  // MARK: What came in

  /// All refreshes that the service itself dealt with, in their order.
  package var exchanges: [TokenExchange] { server.monitor.withLock { $0.service.exchanges } }

  /// How many requests have arrived, cleared ones counted.
  package var arrivals: Int { server.monitor.withLock { $0.entries } }

  /// All requests in the order of their arrival.
  package var log: [LogEntry] { server.monitor.withLock { $0.log } }

  /// The log as the access log has it: `GET /tips/today 401`.
  package var lines: [String] { log.map(\.line) }

  package func clearLog() { server.monitor.withLock { $0.clearLog() } }

  /// How many requests have come to a path.
  package func requests(_ path: String) -> Int { log.count { $0.path == path } }

  /// The most requests to a path that were open at once, from their arrival to the end of their
  /// answer.
  package func peak(_ path: String) -> Int { server.monitor.withLock { $0.peaks[path] ?? 0 } }

  /// Requests to a path that have arrived and are not over.
  package func openRequests(_ path: String) -> Int {
    server.monitor.withLock { $0.open[path] ?? 0 }
  }

  package var openConnections: Int { server.monitor.withLock { $0.openConnections } }

  /// Blocks until a path has had that many requests. False: not in that time.
  package func waitForRequests(_ path: String, count: Int, timeout: Duration = .seconds(30)) -> Bool
  {
    wait(timeout) { state in state.log.count { $0.path == path } >= count }
  }

  /// Blocks until the client of the first request held under this name has closed its end. A held
  /// connection is not read from, so the server itself does not notice.
  package func waitForDeparture(_ name: String, timeout: Duration = .seconds(30)) -> Bool {
    let copy = server.monitor.withLock { state in
      (state.held[name]?.first?.connection ?? state.stalled[name]?.first?.connection)
        .map { dup(Server.descriptor(of: $0)) } ?? -1
    }
    guard copy >= 0 else { return false }
    defer { _ = Glibc.close(copy) }
    // POLLRDHUP: the peer has shut its sending side. Not in Glibc's module; 0x2000 on Linux.
    var entry = pollfd(fd: copy, events: 0x2000, revents: 0)
    return poll(&entry, 1, Int32(clamping: timeout.components.seconds * 1000)) == 1
  }

  // MARK: The account

  /// The tokens that were handed out last.
  package var tokens: TokenPair { server.monitor.withLock { $0.service.account.newest } }

  /// A pair of its own, as after another sign-in.
  package func signIn() -> TokenPair {
    server.monitor.withLock { state in
      let (lifetime, now) = (state.service.options.accessLifetime, state.service.now)
      return state.service.account.issuePair(lifetime: lifetime, now: now)
    }
  }

  /// All access tokens are expired from now on; refresh tokens stay good.
  package func expireAccessTokens() {
    server.monitor.withLock { state in
      let now = state.service.now
      state.service.account.expireAccessTokens(now: now)
    }
  }

  /// Nothing that was handed out counts any more.
  package func revokeAll() { server.monitor.withLock { $0.service.account.revokeAll() } }

  /// The code that a person was shown last, of those that wait for a decision. Nil: none does.
  package var userCode: String? {
    server.monitor.withLock {
      $0.service.authorizations.devices.last { $0.decision == .pending }?.userCode
    }
  }

  /// What a person does at `/device`. False: no such code waits.
  @discardableResult
  package func decide(_ userCode: String, approve: Bool) -> Bool {
    server.monitor.withLock { state in
      let now = state.service.now
      return state.service.authorizations.decide(
        userCode, approve ? .approved : .denied, now: now)
    }
  }

  /// Whether a refresh token could be used now.
  package func isGood(refreshToken token: String) -> Bool {
    server.monitor.withLock { $0.service.account.state(ofRefresh: token) == .good }
  }

  /// Lets the upstream's clock run ahead: lifetimes pass without waiting.
  package func advanceClock(by span: Duration) {
    server.monitor.withLock { $0.service.skew += span }
  }

  /// The ratings that count, in their order.
  package func ratings(of id: String) -> [Int] {
    server.monitor.withLock { $0.service.ratings.of(id) }
  }

  private func wait(_ timeout: Duration, until condition: (ServerState) -> Bool) -> Bool {
    let deadline = ContinuousClock.now.advanced(by: timeout)
    return server.monitor.wait(deadline: { _ in deadline }, until: condition)
  }
}
