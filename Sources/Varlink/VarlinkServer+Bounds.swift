import Execution
import Platform

/// What one user takes of the server, over all its connections.
struct UserAccount {
  var connections = 0
  /// Calls under way that have a task.
  var tasks = 0
  /// Parts of messages, and replies that are not yet read.
  var bytes = 0
}

/// What a single user, or a single message, may cost (``Limits``).
extension VarlinkServer {
  func settle(_ uid: UInt32, _ change: (inout UserAccount) -> Void) {
    guard var account = accounts[uid] else { return }
    change(&account)
    accounts[uid] = account.connections > 0 ? account : nil
  }

  /// Counts one more task, if there is room for it.
  func mayRunAnother(_ connection: Connection) -> Bool {
    let uid = connection.caller.peer.uid
    guard (accounts[uid]?.tasks ?? 0) < limits.maxTasksPerUser else {
      notices.post(.tasksExhausted(uid: uid, limit: limits.maxTasksPerUser), now: loop.now)
      return false
    }
    settle(uid) { $0.tasks += 1 }
    return true
  }

  /// Brings the account up to date with what the connection holds.
  func account(_ connection: Connection, holding present: Int) {
    let change = present - connection.accountedBytes
    if change == 0 { return }
    connection.accountedBytes = present
    heldBytes += change
    noteMemory()
    let uid = connection.caller.peer.uid
    settle(uid) { $0.bytes += change }
    if change > 0 { makeRoom(for: uid) }
  }

  private func makeRoom(for uid: UInt32) {
    let limit = limits.maxBufferedBytesPerUser
    while let account = accounts[uid], account.bytes > limit {
      let largest = connections.values.lazy
        .filter { $0.caller.peer.uid == uid && $0.isOpen }
        .max { $0.accountedBytes < $1.accountedBytes }
      guard let largest, largest.accountedBytes > 0 else { return }
      notices.post(.memoryExhausted(uid: uid, limit: limit), now: loop.now)
      leave(largest)
    }
  }

  // MARK: Messages that do not end

  /// Sees to it that the rest of a message comes in time, of which a part is held.
  func watchPart(_ connection: Connection) {
    if connection.part == nil { armPart(connection, since: loop.now) }
  }

  private func armPart(_ connection: Connection, since: Instant) {
    let id = connection.id
    let timer = loop.schedule(at: since.advanced(by: limits.messageTimeout)) { [self] in
      assumeIsolated { $0.checkPart(id) }
    }
    connection.part = (connection.machine.messagesTaken, since, timer)
  }

  /// One timer serves for many messages: it is set anew when it falls due, not with every message.
  func checkPart(_ id: UInt64) {
    guard let connection = connections[id], connection.isOpen, let part = connection.part else {
      return
    }
    connection.part = nil
    guard connection.machine.holdsPart else { return }
    // Who is not read from cannot be late.
    if part.message == connection.machine.messagesTaken, connection.machine.wantsInput {
      leave(connection)
    } else {
      armPart(connection, since: loop.now)
    }
  }
}
