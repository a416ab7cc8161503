package import Execution

/// Decides what follows an attempt. A value without I/O; the table is `upstream.md`'s column for
/// tip requests. Guards I3.
package struct RetryPolicy: Sendable {
  /// How many retries one request has for transport errors and 5xx, over all its tries.
  package var maxRetries: Int
  /// The pause before the n-th retry is n times this.
  package var backoff: Duration
  /// By how much it is spread, as a share of one.
  package var jitter: Double

  package init(maxRetries: Int = 2, backoff: Duration = .milliseconds(200), jitter: Double = 0) {
    self.maxRetries = maxRetries
    self.backoff = backoff
    self.jitter = jitter
  }

  /// What one request has used up so far.
  package struct Budget: Equatable, Sendable {
    package var retries = 0
    package var hasRefreshed = false

    package init() {}
  }

  package enum Decision: Equatable, Sendable {
    /// The answer is for the endpoint to read.
    case deliver
    /// Refresh, then try once more.
    case recover
    case retry(after: Duration)
    case fail(RequestError)
  }

  package func decide(
    _ outcome: Result<HTTPResponse, TransportError>, mayRepeat: Bool, budget: Budget,
    remaining: Duration, jitter: Double = 0, wallTime: WallTime
  ) -> Decision {
    switch outcome {
    case .failure(let error): decide(error, mayRepeat, budget, remaining, jitter)
    case .success(let response):
      decide(response, mayRepeat, budget, remaining, jitter, wallTime)
    }
  }

  private func decide(
    _ error: TransportError, _ mayRepeat: Bool, _ budget: Budget, _ remaining: Duration,
    _ jitter: Double
  ) -> Decision {
    switch error.kind {
    case .cancelled: return .fail(.cancelled)
    case .invalidURL: return .fail(.invalidURL(reason: error.reason))
    case .malformed: return .fail(.malformed(reason: error.reason))
    case .forbidden: return .fail(.transport(reason: error.reason))
    case .unreachable, .lost:
      // What was never sent may always be sent.
      let allowed = mayRepeat || error.kind == .unreachable
      return retry(allowed, nil, budget, remaining, jitter, else: .transport(reason: error.reason))
    }
  }

  private func decide(
    _ response: HTTPResponse, _ mayRepeat: Bool, _ budget: Budget, _ remaining: Duration,
    _ jitter: Double, _ wallTime: WallTime
  ) -> Decision {
    let status = response.status
    switch status {
    case 200..<300, 304: return .deliver
    case 300..<400:
      return .fail(.malformed(reason: "the upstream redirects elsewhere (\(status))"))
    case 401:
      if AuthenticationChallenge.saysInsufficientScope(response) {
        return .fail(.refused(reason: "the session's scope does not allow this", httpStatus: 401))
      }
      if budget.hasRefreshed || !mayRepeat {
        return .fail(
          .refused(reason: "the upstream rejects the session's token", httpStatus: 401))
      }
      return .recover
    case 404, 410: return .fail(.notFound)
    case 429:
      return .fail(
        .unavailable(
          reason: "the upstream asks to wait", httpStatus: 429,
          retryAfter: RetryAfter.parse(response, now: wallTime)))
    case 408, 500...:
      let wait = status == 503 ? RetryAfter.parse(response, now: wallTime) : nil
      return retry(
        mayRepeat, wait, budget, remaining, jitter,
        else: .unavailable(
          reason: "the upstream answers \(status)", httpStatus: status, retryAfter: wait))
    default:
      return .fail(
        .refused(reason: "the upstream refuses the request (\(status))", httpStatus: status))
    }
  }

  private func retry(
    _ allowed: Bool, _ wait: Duration?, _ budget: Budget, _ remaining: Duration,
    _ jitter: Double, else error: RequestError
  ) -> Decision {
    guard allowed, budget.retries < maxRetries else { return .fail(error) }
    let plain = backoff * (budget.retries + 1)
    let pause = max(plain + plain * (jitter * self.jitter), wait ?? .zero)
    // A retry that the caller would not live to see helps nobody.
    return pause < remaining ? .retry(after: pause) : .fail(error)
  }
}
