import Execution
import Testing
import Tips

@testable import Daemon
@testable import Session

/// The texts that are answered without asking the session or the tips.
@Suite(.timeLimit(.minutes(1)))
struct FreshTextsTests {
  private let gate = SessionGate()
  private let start = WallTime(milliseconds: 1_800_000_000_000)

  private func filled() -> FreshTexts {
    let texts = FreshTexts(gate: gate)
    texts.put([1], for: .today, holds: start..<start.advanced(by: .seconds(1)))
    return texts
  }

  @Test(arguments: [(-1, false), (0, true), (999, true), (1000, false)])
  func `a text is given out in its span only, also when the clock is set back`(
    milliseconds: Int, isGiven: Bool
  ) {
    gate.set(true)
    let texts = filled()
    let now = start.advanced(by: .milliseconds(milliseconds))
    #expect(texts.text(of: .today, at: now) == (isGiven ? [1] : nil))
    #expect(texts.served == (isGiven ? 1 : 0))
  }

  /// I6.
  @Test func `nothing is given out while the gate is shut`() {
    let texts = filled()
    #expect(texts.text(of: .today, at: start) == nil)
    gate.set(true)
    #expect(texts.text(of: .today, at: start) == [1])
    gate.set(false)
    #expect(texts.text(of: .today, at: start) == nil)
  }

  @Test func `however many tips are asked for, few texts are kept`() {
    gate.set(true)
    let texts = FreshTexts(gate: gate)
    for number in 0..<1000 {
      texts.put([1], for: .item("\(number)"), holds: start..<start.advanced(by: .seconds(1)))
      #expect(texts.text(of: .item("\(number)"), at: start) == [1])
    }
    #expect(texts.count <= FreshTexts.most)
  }

  /// I6.
  @Test func `a change of the cache drops all texts`() {
    gate.set(true)
    let texts = filled()
    texts.removeAll()
    #expect(texts.text(of: .today, at: start) == nil)
  }
}
