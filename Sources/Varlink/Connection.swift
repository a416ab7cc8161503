import Execution
import Platform

/// One client's connection, as the server holds it: the machine that decides, the descriptor, and
/// the tasks of calls under way. It belongs to the server's isolation and never leaves it.
final class Connection {
  let id: UInt64
  let caller: Caller
  var machine: ConnectionMachine
  /// Nil once the connection is closed. It may then still stand for oneway calls under way.
  private var descriptor: FileDescriptor?
  /// What the loop watches for.
  var interest: EventLoop.Readiness = .readable
  /// Calls under way that have a task; the value is nil only while the task is being begun.
  var tasks: [ConnectionMachine.Slot: Task<Void, Never>?] = [:]
  var streams: Set<ConnectionMachine.Slot> = []
  /// Calls are being begun: whoever answers one meanwhile leaves the rest to that turn.
  var isInTurn = false
  /// Both directions are closed: what was sent is still read, nothing is written.
  var isPeerGone = false
  /// Continues a turn that ended with calls left.
  var nextTurn: TimerID?
  var idleTimer: TimerID?
  var lastActivity: Instant
  /// Ends the wait for the rest of a message: which one, and since when.
  var part: (message: UInt64, since: Instant, timer: TimerID)?
  /// What its user's account has of it.
  var accountedBytes = 0

  init(
    id: UInt64, caller: Caller, descriptor: consuming FileDescriptor, limits: Limits, now: Instant
  ) {
    self.id = id
    self.caller = caller
    self.descriptor = consume descriptor
    machine = ConnectionMachine(limits: limits)
    lastActivity = now
  }

  var isOpen: Bool { descriptor != nil }

  /// The number for system calls, or -1, which they refuse.
  var rawDescriptor: Int32 {
    switch descriptor {
    case .some(let descriptor): descriptor.rawValue
    case nil: -1
    }
  }

  func close() {
    descriptor = nil
  }

  /// Takes the tasks that matter to nobody once the client is gone. A oneway call's does.
  func takeAwaitedTasks() -> [Task<Void, Never>] {
    var taken: [Task<Void, Never>] = []
    for (slot, task) in tasks {
      if case .oneway = slot { continue }
      tasks[slot] = nil
      if let task { taken.append(task) }
    }
    return taken
  }
}
