/// What a script learns from `brewlogctl`; the numbers are part of the contract.
package enum ExitCode: Int32, Sendable {
  case done = 0
  /// Also: not ready, not clean, not allowed, findings.
  case failed = 1
  case usage = 2
  case unreachable = 3
  case noSession = 4
  case permissionDenied = 5
  case unavailable = 6
  case logoutNotDurable = 7
}

/// Why a command did not do what it was asked: one sentence that says what happened and why, and
/// one that says what to do. It is shown on standard error and never holds a token (I10).
package struct CommandFailure: Error, Equatable, Sendable {
  package var exit: ExitCode
  package var problem: String
  package var remedy: String?

  package init(_ exit: ExitCode, _ problem: String, remedy: String? = nil) {
    self.exit = exit
    self.problem = problem
    self.remedy = remedy
  }
}
