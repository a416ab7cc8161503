import Execution
import JSON
import Session

/// What a start found, told as the move that led there: for a history that lacks it, since a kill may
/// fall between a move and its event. Who caused it is not known any more.
enum RestoredMove {
  static let remark = "recorded at the start after a kill"

  /// Nil where there never was a move.
  static func event(to state: SessionSnapshot, at time: WallTime) -> EventRecord? {
    guard state.generation > .none else { return nil }
    let kind: SessionEvent.Kind
    let detail: String?
    if let facts = state.facts {
      kind = facts.accountVerified ? .signedIn : .imported
      detail = facts.account
    } else if case .signedOut(let reason) = state.phase {
      kind = .signedOut
      detail = reason
    } else {
      return nil
    }
    return EventRecord(
      sequence: 0, at: time, kind: kind.rawValue, generation: state.generation,
      detail: TextSanitizer.clean(detail.map { "\($0); \(remark)" } ?? remark, limit: 500))
  }
}
