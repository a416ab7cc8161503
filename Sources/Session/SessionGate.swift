import Synchronization

/// Whether there is a session that may be used, for those who answer without entering the
/// coordinator's isolation. The coordinator sets it with every change of what it follows from.
package final class SessionGate: Sendable {
  private let flag = Atomic<Bool>(false)

  package var isOpen: Bool { flag.load(ordering: .acquiring) }

  func set(_ isOpen: Bool) { flag.store(isOpen, ordering: .releasing) }
}
