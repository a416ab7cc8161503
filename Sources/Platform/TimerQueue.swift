package import Execution

/// The timers of one ground, in order of deadline and, within one deadline, of scheduling.
///
/// A binary heap. A cancelled timer leaves its entry behind and only loses its closure, so that
/// cancelling costs no search: most timers are deadlines that never fire. The heap is rebuilt when
/// more than half of it is left-overs.
///
/// It never calls a closure itself. A closure may add or cancel timers, and doing so from within a
/// mutating method would break exclusive access: the owner takes one out, and then calls it.
package struct TimerQueue {
  private struct Entry {
    let deadline: Instant
    let id: UInt64

    func comes(before other: Entry) -> Bool {
      deadline == other.deadline ? id < other.id : deadline < other.deadline
    }
  }

  private var heap: [Entry] = []
  private var closures: [UInt64: @Sendable () -> Void] = [:]
  private var nextID: UInt64 = 1

  package init() {}

  /// How many timers wait; cancelled ones do not count.
  package var count: Int { closures.count }

  /// Ids from here on belong to timers that do not exist yet.
  package var horizon: TimerID { TimerID(rawValue: nextID) }

  package mutating func schedule(
    at deadline: Instant, _ fire: @escaping @Sendable () -> Void
  ) -> TimerID {
    let id = nextID
    nextID += 1
    closures[id] = fire
    heap.append(Entry(deadline: deadline, id: id))
    siftUp(from: heap.count - 1)
    return TimerID(rawValue: id)
  }

  /// Does nothing for a timer that has fired or was cancelled.
  package mutating func cancel(_ timer: TimerID) {
    guard closures.removeValue(forKey: timer.rawValue) != nil else { return }
    if heap.count > 2 * closures.count + 64 { rebuild() }
  }

  package mutating func nextDeadline() -> Instant? {
    dropCancelled()
    return heap.first?.deadline
  }

  /// Takes out the first timer that is due, if it is older than `horizon`. A timer that adds itself
  /// again for a moment in the past must not keep the ground from everything else.
  package mutating func takeDue(at now: Instant, before horizon: TimerID) -> (@Sendable () -> Void)?
  {
    dropCancelled()
    guard let first = heap.first, first.deadline <= now, first.id < horizon.rawValue else {
      return nil
    }
    removeFirst()
    return closures.removeValue(forKey: first.id)
  }

  private mutating func dropCancelled() {
    while let first = heap.first, closures[first.id] == nil { removeFirst() }
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    siftDown(from: 0)
  }

  private mutating func rebuild() {
    heap.removeAll { closures[$0.id] == nil }
    for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(from: index) }
  }

  private mutating func siftUp(from start: Int) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard heap[index].comes(before: heap[parent]) else { return }
      heap.swapAt(index, parent)
      index = parent
    }
  }

  private mutating func siftDown(from start: Int) {
    var index = start
    while true {
      let left = 2 * index + 1
      guard left < heap.count else { return }
      let right = left + 1
      let child = right < heap.count && heap[right].comes(before: heap[left]) ? right : left
      guard heap[child].comes(before: heap[index]) else { return }
      heap.swapAt(index, child)
      index = child
    }
  }
}
