import Execution
import Platform

/// What all connections cost, so that a crowd that has left does not cost its memory for ever.
struct MemoryUse {
  /// An idle connection, about.
  static let connection = 1_024
  /// What is too little to look at.
  static let floor = 1 << 20

  /// The most since memory was last given back.
  private var highest = 0
  var timer: TimerID?

  /// Whether most of what was in use is free now.
  mutating func note(_ present: Int) -> Bool {
    highest = max(highest, present)
    return highest >= Self.floor && present <= highest / 4
  }

  mutating func forget(_ present: Int) { highest = present }
}

extension VarlinkServer {
  /// In bytes.
  private var present: Int { connections.count * MemoryUse.connection + heldBytes }

  func noteMemory() {
    guard memory.note(present), memory.timer == nil, !isStopping else { return }
    // Not at once: those who leave together cost one look at the heap, not one each.
    let due = loop.now.advanced(by: limits.memoryPause)
    memory.timer = loop.schedule(at: due) { [weak self] in
      guard let self else { return }
      self.assumeIsolated { $0.giveMemoryBack() }
    }
  }

  private func giveMemoryBack() {
    memory.timer = nil
    guard memory.note(present) else { return }
    memory.forget(present)
    // The table keeps the room that it once needed.
    connections = connections.filter { _ in true }
    giveBack()
  }
}
