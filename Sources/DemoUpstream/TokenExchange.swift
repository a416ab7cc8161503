/// What the token endpoint did with one refresh token, whether or not its answer has arrived: what a
/// test knows and a client cannot. Tokens as labels ("refresh-2").
package struct TokenExchange: Sendable, Equatable {
  package enum Outcome: Sendable {
    case granted
    /// Refused: it had been replaced, revoked, or was never handed out.
    case spent, revoked, unknown
  }

  package var token: String
  /// The refresh token of the sign-in that it descends from.
  package var origin: String?
  package var outcome: Outcome
  /// The place of its request in ``DemoUpstream/log``, cleared entries counted.
  package var entry = 0
  /// Whether its step sends the answer whole and at once.
  package var isAnswered = true
}
