import Execution
import Platform
import Secrets
import Session
import Simulation
import TestSupport

/// A token endpoint that answers what it is told to, when it is told to. Its log names the tokens
/// that were sent.
final class ScriptedEndpoint: TokenEndpoint {
  enum Answer: Sendable {
    case grant(access: String, refresh: String?, lifetime: Duration?)
    case failure(RefreshFailure)
  }

  struct Step: Sendable {
    var answer: Answer
    /// Holds the answer back until it is opened.
    var gate: Gate?
    /// The same, for an exchange that goes on though its task is cancelled.
    var latch: Latch?
  }

  private struct State {
    var steps: [Step] = []
    var sent: [String] = []
    var open = 0
    var mostOpen = 0
    var granted = 0
  }

  let binding: UpstreamBinding
  private let state = Locked(State())
  private let note: @Sendable (String) -> Void

  init(
    binding: UpstreamBinding,
    note: @escaping @Sendable (String) -> Void
  ) {
    self.binding = binding
    self.note = note
  }

  /// What the next exchanges are answered; beyond the script each brings a new pair at once.
  func script(_ answer: Answer, gate: Gate? = nil, latch: Latch? = nil) {
    state.withLock {
      $0.steps.append(
        Step(answer: answer, gate: gate, latch: latch))
    }
  }

  /// The refresh tokens that were sent, in order.
  var sent: [String] { state.withLock { $0.sent } }
  /// How many exchanges were open at once, at the most.
  var mostOpen: Int { state.withLock { $0.mostOpen } }

  func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    let token = Dummy.text(refreshToken) ?? "none"
    let step: Step? = state.withLock { state in
      state.sent.append(token)
      state.open += 1
      state.mostOpen = max(state.mostOpen, state.open)
      return state.steps.isEmpty ? nil : state.steps.removeFirst()
    }
    note("exchange \(token)")
    defer { state.withLock { $0.open -= 1 } }
    if let latch = step?.latch { await latch.wait() }
    if let gate = step?.gate {
      await gate.wait()
      if Task.isCancelled { throw RefreshFailure(.cancelled, reason: "cancelled") }
    }
    switch step?.answer {
    case .failure(let failure): throw failure
    case .grant(let access, let refresh, let lifetime):
      return try grant(access, refresh, lifetime)
    case nil:
      let number = state.withLock { state in
        state.granted += 1
        return state.granted
      }
      return try grant("access-\(number)", "refresh-\(number)", .seconds(3600))
    }
  }

  private func grant(
    _ access: String, _ refresh: String?, _ lifetime: Duration?
  ) throws(RefreshFailure) -> GrantedTokens {
    guard let secret = Dummy.secret(access) else {
      throw RefreshFailure(.transient, reason: "no locked memory")
    }
    return GrantedTokens(access: secret, refresh: Dummy.secret(refresh), lifetime: lifetime)
  }
}
