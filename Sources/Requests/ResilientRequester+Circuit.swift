package import Execution

/// The circuit: whether the upstream may be asked at all.
extension ResilientRequester {
  /// Throws where the upstream is away and its next probe is not due.
  func admit() throws(RequestError) {
    if case .wait(let span) = circuit.admit(now: ground.now) {
      throw .unavailable(
        reason: "the upstream is away: \(awayReason)", httpStatus: nil, retryAfter: span)
    }
  }

  func note(_ outcome: Result<HTTPResponse, TransportError>) {
    switch outcome {
    case .failure(let error):
      switch error.kind {
      // A certificate that is not trusted will not be in a second, either.
      case .unreachable, .lost, .forbidden: fail(error.reason, asked: nil)
      // Something answers there.
      case .malformed: succeed()
      case .cancelled, .invalidURL:
        circuit.giveUp(now: ground.now)
        scheduleProbe()
      }
    case .success(let response) where response.status == 408 || response.status >= 500:
      let asked =
        response.status == 503 ? RetryAfter.parse(response, now: ground.wallTime) : nil
      fail("it answers \(response.status)", asked: asked)
    case .success: succeed()
    }
  }

  private func succeed() {
    if circuit.succeed() == .closed { cancelProbe() }
  }

  /// Whether the answer is one that says when to come again.
  func asksToWait(_ outcome: Result<HTTPResponse, TransportError>) -> Bool {
    guard case .success(let response) = outcome, response.status == 503 else { return false }
    return RetryAfter.parse(response, now: ground.wallTime) != nil
  }

  private func fail(_ reason: String, asked: Duration?) {
    circuit.fail(now: ground.now, asked: asked)
    awayReason = reason
    scheduleProbe()
  }

  /// What the probe is: any request that goes through the circuit.
  package func probe(with request: @escaping @Sendable () async -> Void) {
    probe = request
  }

  /// The network has changed: no need to wait for the next probe's turn.
  package func networkChanged() {
    circuit.probeNow(now: ground.now)
    scheduleProbe()
  }

  /// Why and until when the upstream is not asked; nil: it is.
  package var away: (reason: String, until: Instant)? {
    circuit.nextProbe.map { (awayReason, $0) }
  }

  private static let idleProbePause = Duration.seconds(30)

  private func scheduleProbe() {
    cancelProbe()
    if let due = circuit.nextProbe { scheduleProbe(at: max(due, ground.now)) }
  }

  private func scheduleProbe(at moment: Instant) {
    guard probe != nil else { return }
    probeTimer = ground.schedule(at: moment) {
      Task(executorPreference: self.ground) { await self.runProbe() }
    }
  }

  func cancelProbe() {
    if let timer = probeTimer { ground.cancel(timer) }
    probeTimer = nil
  }

  private func runProbe() async {
    probeTimer = nil
    guard !circuit.isClosed, let probe else { return }
    await probe()
    guard !circuit.isClosed, probeTimer == nil else { return }
    // It may have had nothing to send (signed out, a refresh that is held back): look again later.
    let soonest = ground.now.advanced(by: Self.idleProbePause)
    scheduleProbe(at: max(circuit.nextProbe ?? soonest, soonest))
  }
}
