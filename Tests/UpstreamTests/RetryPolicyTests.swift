import Execution
import Requests
import Testing

/// What follows an attempt, decided without a wire; the table itself is ``TipAnswerTests``'s.
@Suite(.timeLimit(.minutes(1)))
struct RetryPolicyTests {
  private static let now = WallTime(milliseconds: 1_800_000_000_000)

  private func decide(
    _ policy: RetryPolicy = RetryPolicy(), _ outcome: Result<HTTPResponse, TransportError>,
    mayRepeat: Bool = true, retries: Int = 0, refreshed: Bool = false,
    remaining: Duration = .seconds(30), jitter: Double = 0
  ) -> RetryPolicy.Decision {
    var budget = RetryPolicy.Budget()
    budget.retries = retries
    budget.hasRefreshed = refreshed
    return policy.decide(
      outcome, mayRepeat: mayRepeat, budget: budget, remaining: remaining, jitter: jitter,
      wallTime: Self.now)
  }

  private static func answer(
    _ status: Int, _ fields: HTTPField...
  ) -> Result<HTTPResponse, TransportError> {
    .success(HTTPResponse(status: status, fields: fields))
  }

  private static func failure(
    _ kind: TransportError.Kind
  ) -> Result<HTTPResponse, TransportError> {
    .failure(TransportError(kind, reason: "why"))
  }

  @Test func `pauses grow by steps, 200 and 400 ms unless told otherwise`() {
    #expect(decide(Self.answer(500), retries: 0) == .retry(after: .milliseconds(200)))
    #expect(decide(Self.answer(500), retries: 1) == .retry(after: .milliseconds(400)))
    guard case .fail = decide(Self.answer(500), retries: 2) else {
      Issue.record("a third retry")
      return
    }
  }

  private func decide(
    _ outcome: Result<HTTPResponse, TransportError>, retries: Int = 0
  ) -> RetryPolicy.Decision {
    decide(RetryPolicy(), outcome, retries: retries)
  }

  @Test func `jitter spreads a pause, and is off unless configured`() {
    let policy = RetryPolicy(maxRetries: 5, backoff: .milliseconds(100), jitter: 0.5)
    #expect(decide(policy, Self.answer(502), jitter: 1) == .retry(after: .milliseconds(150)))
    #expect(decide(policy, Self.answer(502), jitter: 0) == .retry(after: .milliseconds(100)))
    #expect(
      decide(RetryPolicy(), Self.answer(502), jitter: 1) == .retry(after: .milliseconds(200)))
  }

  @Test func `a wait that was asked for is kept, where the caller lives to see it`() {
    let busy = Self.answer(503, HTTPField("Retry-After", "5"))
    #expect(decide(RetryPolicy(), busy) == .retry(after: .seconds(5)))
    guard
      case .fail(.unavailable(_, 503, let wait)) = decide(
        RetryPolicy(), busy, remaining: .seconds(5))
    else {
      Issue.record("retried")
      return
    }
    #expect(wait == .seconds(5))
  }

  @Test func `what was never sent may be sent again, whatever it is`() {
    #expect(
      decide(RetryPolicy(), Self.failure(.unreachable), mayRepeat: false)
        == .retry(after: .milliseconds(200)))
    #expect(
      decide(RetryPolicy(), Self.failure(.lost), mayRepeat: false)
        == .fail(.transport(reason: "why")))
    #expect(
      decide(RetryPolicy(), Self.failure(.lost)) == .retry(after: .milliseconds(200)))
  }

  @Test(arguments: [
    (TransportError.Kind.cancelled, RequestError.cancelled),
    (.invalidURL, .invalidURL(reason: "why")), (.malformed, .malformed(reason: "why")),
    (.forbidden, .transport(reason: "why")),
  ])
  func `what no retry mends is not tried again`(
    kind: TransportError.Kind, error: RequestError
  ) {
    #expect(decide(RetryPolicy(), Self.failure(kind)) == .fail(error))
  }

  @Test func `a 401 is recovered from once, and never for what may not be repeated`() {
    #expect(decide(RetryPolicy(), Self.answer(401)) == .recover)
    for decision in [
      decide(RetryPolicy(), Self.answer(401), refreshed: true),
      decide(RetryPolicy(), Self.answer(401), mayRepeat: false),
    ] {
      guard case .fail(.refused(_, 401)) = decision else {
        Issue.record("\(decision)")
        continue
      }
    }
  }
}
