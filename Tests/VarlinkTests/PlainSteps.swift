import Varlink

extension ConnectionMachine {
  /// Steps without a memory of calls.
  mutating func next() -> Step {
    var none = PreparedCalls { _ in nil }
    return next(&none)
  }
}
