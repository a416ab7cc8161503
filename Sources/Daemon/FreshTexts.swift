import Execution
import Platform
import Session
import Synchronization
import Tips

/// The texts of fresh tips, each for the span of time in which it is right: so that what nearly all
/// callers ask is answered without entering the tips' isolation, and is encoded once a second.
///
/// Guards I6: any change of the cache empties it (``TipService`` says so), and nothing is given out
/// while the session's gate is shut.
final class FreshTexts: Sendable {
  private struct Text {
    let bytes: [UInt8]
    let holds: Range<WallTime>
  }

  /// Each holds for a second at most: what is asked for in one is few, and what is past its second is
  /// not worth its memory.
  static let most = 64

  private let gate: SessionGate
  private let texts = Locked<[TipKey: Text]>([:])
  private let hits = Atomic<Int>(0)

  init(gate: SessionGate) {
    self.gate = gate
  }

  /// How many are kept.
  var count: Int { texts.withLock { $0.count } }

  /// How often one was given out.
  var served: Int { hits.load(ordering: .relaxed) }

  func text(of key: TipKey, at now: WallTime) -> [UInt8]? {
    guard gate.isOpen,
      let text = texts.withLock({ $0[key] }), text.holds.contains(now)
    else { return nil }
    hits.add(1, ordering: .relaxed)
    return text.bytes
  }

  func put(_ bytes: [UInt8], for key: TipKey, holds: Range<WallTime>) {
    texts.withLock { texts in
      if texts.count >= Self.most { texts.removeAll(keepingCapacity: true) }
      texts[key] = Text(bytes: bytes, holds: holds)
    }
  }

  func removeAll() {
    texts.withLock { $0.removeAll(keepingCapacity: true) }
  }
}
