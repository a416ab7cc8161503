import Execution

/// What a reload of the configuration changes.
extension SessionCoordinator {
  /// Goes by another policy from now on, and looks again at whether the session belongs to the
  /// endpoint's present binding: one that does not is suspended, and nothing of it is sent any more
  /// (I11). A session that was suspended for that reason goes on when the binding is right again. An
  /// exchange that was sent already is finished, and what it brings is stored.
  package func adopt(_ policy: SessionPolicy) {
    let before = machine.phase
    machine.adopt(policy, binding: endpoint.binding)
    if machine.phase != before {
      switch machine.phase {
      case .suspended(let reason):
        report(SessionEvent(.suspended, generation: machine.generation, detail: reason))
      case .signedIn: report(SessionEvent(.resumed, generation: machine.generation))
      case .signedOut: break
      }
    }
    if machine.flight == nil { scheduleRenewal() }
  }
}

extension SessionMachine {
  mutating func adopt(_ policy: SessionPolicy, binding: UpstreamBinding) {
    self.policy = policy
    backoff.forgiveMisconfiguration()
    let wasElsewhere = facts?.binding != self.binding
    self.binding = binding
    guard let facts else { return }
    if facts.binding != binding {
      phase = .suspended(reason: Self.difference(between: facts.binding, and: binding))
    } else if wasElsewhere, !isCopied {
      phase = .signedIn
    }
  }
}

extension RefreshBackoff {
  /// A fault of the configuration holds only until that changes.
  mutating func forgiveMisconfiguration() {
    if notBefore == .distantFuture { self = RefreshBackoff() }
  }
}
