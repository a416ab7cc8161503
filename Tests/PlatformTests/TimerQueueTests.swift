import Execution
import Platform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TimerQueueTests {
  /// A small generator, so that a failure can be repeated.
  private struct Sequence: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `against a plain list, the same timers come out in the same order`(seed: UInt64) {
    var random = Sequence(state: seed)
    var queue = TimerQueue()
    var model: [(deadline: UInt64, id: TimerID)] = []
    let fired = Locked<[TimerID]>([])
    for step in 0..<2000 as Range<UInt64> {
      switch Int.random(in: 0..<5, using: &random) {
      case 0...2:
        let deadline = step + UInt64.random(in: 0..<300, using: &random)
        let name = Locked<TimerID?>(nil)
        let id = queue.schedule(at: Instant(nanoseconds: deadline)) {
          if let id = name.withLock({ $0 }) { fired.withLock { $0.append(id) } }
        }
        name.withLock { $0 = id }
        model.append((deadline, id))
      case 3:
        guard let victim = model.randomElement(using: &random) else { continue }
        queue.cancel(victim.id)
        model.removeAll { $0.id == victim.id }
      default:
        let horizon = queue.horizon
        while let fire = queue.takeDue(at: Instant(nanoseconds: step), before: horizon) { fire() }
        let due = model.filter { $0.deadline <= step }
          .sorted { ($0.deadline, $0.id.rawValue) < ($1.deadline, $1.id.rawValue) }
        #expect(fired.withLock { $0 } == due.map(\.id))
        fired.withLock { $0 = [] }
        model.removeAll { $0.deadline <= step }
      }
      #expect(queue.count == model.count)
      #expect(queue.nextDeadline()?.nanoseconds == model.map(\.deadline).min())
    }
  }
}
