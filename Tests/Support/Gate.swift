import Platform

/// Holds tasks at a point until the test opens it: how a test forces two things to overlap.
///
///     let gate = Gate()
///     // in the code under test:   await gate.wait()
///     // in the test:              await gate.arrived(1); …; gate.open()
///
/// Once open it stays open. A cancelled task passes at once.
package final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var arrivals = 0
    var nextID = 0
    var held: [Int: CheckedContinuation<Void, Never>] = [:]
    var watchers: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]

    mutating func makeID() -> Int {
      nextID += 1
      return nextID
    }
  }

  private let state = Locked(State())

  package init() {}

  /// How many have come so far, held or let through.
  package var arrivals: Int {
    state.withLock { $0.arrivals }
  }

  /// Waits until the gate is open.
  package func wait() async {
    let id = state.withLock { $0.makeID() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (passes, met) = state.withLock { state in
          state.arrivals += 1
          let passes = state.isOpen || Task.isCancelled
          if !passes { state.held[id] = continuation }
          let met = state.watchers.filter { $0.value.count <= state.arrivals }
          for key in met.keys { state.watchers[key] = nil }
          return (passes, met.values.map(\.continuation))
        }
        if passes { continuation.resume() }
        for continuation in met { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.held.removeValue(forKey: id) }?.resume()
    }
  }

  /// Lets all through, now and from now on.
  package func open() {
    let held = state.withLock { state in
      state.isOpen = true
      defer { state.held = [:] }
      return state.held.sorted { $0.key < $1.key }
    }
    for (_, continuation) in held { continuation.resume() }
  }

  /// Waits until `count` have come to the gate since it was made.
  package func arrived(_ count: Int) async {
    let id = state.withLock { $0.makeID() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let met = state.withLock { state in
          if state.arrivals >= count || Task.isCancelled { return true }
          state.watchers[id] = (count, continuation)
          return false
        }
        if met { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.watchers.removeValue(forKey: id) }?.continuation.resume()
    }
  }
}
