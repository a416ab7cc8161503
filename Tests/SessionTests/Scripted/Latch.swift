import Platform

/// A hold that nothing but `open` ends, a cancellation neither: how a store or a server behaves
/// that does not notice that whoever asked has gone.
final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var held: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  /// Whether anybody is held.
  var isReached: Bool { state.withLock { !$0.held.isEmpty } }

  func wait() async {
    await withCheckedContinuation { continuation in
      let passes = state.withLock { state in
        if !state.isOpen { state.held.append(continuation) }
        return state.isOpen
      }
      if passes { continuation.resume() }
    }
  }

  func open() {
    let held = state.withLock { state in
      state.isOpen = true
      defer { state.held = [] }
      return state.held
    }
    for continuation in held { continuation.resume() }
  }
}
