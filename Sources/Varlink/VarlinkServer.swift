import Execution
package import Platform

/// Serves Varlink on a listening Unix socket (the UAPI group's specification 20). One actor on the
/// loop owns all connections; each readiness of a socket is one turn in its isolation: read once,
/// begin the calls that are whole, write once. A turn is bounded, so that a flooding client waits
/// for the others and not they for it.
package actor VarlinkServer {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  let loop: EventLoop
  private(set) var limits: Limits
  let router: Router
  let handler: any CallHandler
  var notices: NoticeThrottle
  /// ``Limits/maxConnections``, or less where the process may not open as many.
  var maxConnections: Int
  var listener: Listener?

  let giveBack: @Sendable () -> Void
  var memory = MemoryUse()
  /// What the connections hold besides themselves.
  var heldBytes = 0

  var connections: [UInt64: Connection] = [:]
  private var prepared: PreparedCalls
  var buffer: ReceiveBuffer
  private var room = OutputQueue.Room()
  var accounts: [UInt32: UserAccount] = [:]
  private var nextConnection: UInt64 = 1
  private(set) var isStopping = false
  private var stopWaiters: [CheckedContinuation<Void, Never>] = []

  /// `notice` hears, on the loop, what an operator should know of refused connections; the same
  /// kind at most once in ``Limits/noticeInterval``.
  package init(
    loop: EventLoop, info: ServiceInfo, interfaces: [InterfaceDescription],
    limits: Limits = Limits(), handler: any CallHandler,
    notice: @escaping @Sendable (ServerNotice) -> Void = { _ in },
    giveBack: @escaping @Sendable () -> Void = ProcessMemory.giveBack
  ) {
    self.loop = loop
    self.limits = limits
    self.handler = handler
    self.giveBack = giveBack
    let router = Router(info: info, interfaces: interfaces)
    self.router = router
    prepared = PreparedCalls { call in
      router.route(call.method) == .handler ? handler.prepare(call) : nil
    }
    buffer = ReceiveBuffer(count: limits.readBytesPerTurn)
    maxConnections = limits.maxConnections
    notices = NoticeThrottle(interval: limits.noticeInterval, report: notice)
    unownedExecutor = loop.asUnownedSerialExecutor()
  }

  /// Goes by other limits from now on; a connection that is open keeps those it was opened under.
  package func adopt(_ limits: Limits) {
    if limits.readBytesPerTurn != self.limits.readBytesPerTurn {
      buffer = ReceiveBuffer(count: limits.readBytesPerTurn)
    }
    self.limits = limits
    countRoom()
  }

  /// Open connections, and closed ones whose oneway calls are under way.
  package var connectionCount: Int { connections.count }

  // MARK: Connections

  func adopt(_ descriptor: consuming FileDescriptor, of peer: PeerCredentials) {
    let id = nextConnection
    nextConnection += 1
    let raw = descriptor.rawValue
    let connection = Connection(
      id: id, caller: Caller(peer: peer, connection: id), descriptor: descriptor, limits: limits,
      now: loop.now)
    do throws(SystemError) {
      try loop.watch(raw, for: connection.interest) { [self] readiness in
        assumeIsolated { $0.ready(id, readiness) }
      }
    } catch {
      notices.post(.descriptorsExhausted(error), now: loop.now)
      return
    }
    connections[id] = connection
    accounts[peer.uid, default: UserAccount()].connections += 1
    noteMemory()
    if limits.idleTimeout > .zero { armIdleTimer(connection) }
  }

  private func ready(_ id: UInt64, _ readiness: EventLoop.Readiness) {
    guard let connection = connections[id], connection.isOpen else { return }
    if readiness.contains(.hangup) { connection.isPeerGone = true }
    if readiness.contains(.readable) || connection.isPeerGone {
      if connection.machine.wantsInput {
        read(connection)
      } else if connection.isPeerGone && !connection.machine.canStep {
        leave(connection)
      }
    }
    turn(connection)
  }

  private func read(_ connection: Connection) {
    switch SocketIO.receive(from: connection.rawDescriptor, into: buffer.bytes) {
    case .bytes(let count):
      noteActivity(connection)
      buffer.take(count) { connection.machine.receive($0) }
    case .end: connection.machine.endInput()
    case .nothing: if connection.isPeerGone { connection.machine.endInput() }
    case .broken: leave(connection)
    }
  }

  /// Begins what calls there are, up to a bound, writes once, and sees to what comes next.
  private func turn(_ connection: Connection) {
    if connection.isInTurn || !connection.isOpen { return }
    connection.isInTurn = true
    connection.machine.borrow(&room)
    let isViolated = beginCalls(connection)
    connection.isInTurn = false
    guard connection.isOpen else { return }
    if !connection.isPeerGone { write(connection) }
    connection.machine.giveBack(&room)
    guard connection.isOpen else { return }
    let outlook = connection.machine.outlook
    account(connection, holding: outlook.heldBytes)
    guard connection.isOpen else { return }
    if isViolated || outlook.isDone {
      leave(connection)
    } else if connection.isPeerGone && outlook.isInputEnded && !outlook.canStep {
      leave(connection)
    } else {
      prepareNextTurn(connection, outlook)
    }
  }

  private func beginCalls(_ connection: Connection) -> Bool {
    for _ in 0..<limits.callsPerTurn where connection.isOpen {
      switch connection.machine.next(&prepared) {
      case .answer(let slot, let known): answer(known, in: slot, on: connection)
      case .begin(let slot, let call): begin(call, in: slot, on: connection)
      case .wait: return false
      case .violation: return true
      }
    }
    return false
  }

  private func write(_ connection: Connection) {
    var isBroken = false
    connection.machine.takeOutput { bytes in
      switch SocketIO.send(bytes, to: connection.rawDescriptor) {
      case .bytes(let count):
        noteActivity(connection)
        return count
      case .nothing: return 0
      case .broken:
        isBroken = true
        return 0
      }
    }
    if isBroken { leave(connection) }
  }

  private func prepareNextTurn(
    _ connection: Connection, _ outlook: ConnectionMachine.Outlook
  ) {
    var interest = EventLoop.Readiness.gone
    if outlook.wantsInput { interest.insert(.readable) }
    if outlook.hasOutput && !connection.isPeerGone { interest.insert(.writable) }
    if interest != connection.interest {
      do throws(SystemError) {
        try loop.update(connection.rawDescriptor, for: interest)
        connection.interest = interest
      } catch {
        // Not watched, it would hang for ever.
        leave(connection)
        return
      }
    }
    if outlook.holdsPart && !outlook.isInputEnded { watchPart(connection) }
    if connection.nextTurn == nil, outlook.canStep {
      let id = connection.id
      connection.nextTurn = loop.schedule(at: loop.now) { [self] in
        assumeIsolated { $0.continueTurn(id) }
      }
    }
  }

  private func continueTurn(_ id: UInt64) {
    guard let connection = connections[id] else { return }
    connection.nextTurn = nil
    turn(connection)
  }

  /// Closes, and cancels what nobody waits for any more. Its place is free when nothing of it is
  /// left under way.
  func leave(_ connection: Connection) {
    guard connection.isOpen else { return }
    loop.unwatch(connection.rawDescriptor)
    connection.close()
    for timer in [connection.nextTurn, connection.idleTimer, connection.part?.timer] {
      if let timer { loop.cancel(timer) }
    }
    connection.part = nil
    account(connection, holding: 0)
    let orphans = connection.takeAwaitedTasks()
    settle(connection.caller.peer.uid) { $0.tasks -= orphans.count }
    forgetIfEmpty(connection)
    for task in orphans { task.cancel() }
  }

  private func forgetIfEmpty(_ connection: Connection) {
    guard !connection.isOpen, connection.tasks.isEmpty,
      connections.removeValue(forKey: connection.id) != nil
    else { return }
    settle(connection.caller.peer.uid) { $0.connections -= 1 }
    noteMemory()
    if isStopping && connections.isEmpty { endStop() }
  }

  private func noteActivity(_ connection: Connection) {
    if limits.idleTimeout > .zero { connection.lastActivity = loop.now }
  }

  private func armIdleTimer(_ connection: Connection) {
    let id = connection.id
    let deadline = connection.lastActivity.advanced(by: limits.idleTimeout)
    connection.idleTimer = loop.schedule(at: deadline) { [self] in
      assumeIsolated { $0.checkIdle(id) }
    }
  }

  private func checkIdle(_ id: UInt64) {
    guard let connection = connections[id], connection.isOpen else { return }
    if connection.machine.pendingCalls > 0 { connection.lastActivity = loop.now }
    if connection.lastActivity.advanced(by: limits.idleTimeout) <= loop.now {
      connection.idleTimer = nil
      leave(connection)
    } else {
      armIdleTimer(connection)
    }
  }

  // MARK: Calls

  private func answer(
    _ known: PreparedCall, in slot: ConnectionMachine.Slot, on connection: Connection
  ) {
    if let answer = known.answer(connection.caller) {
      take(answer, to: known.call, in: slot, on: connection)
    } else {
      prepared.forget(known)
      begin(known.call, in: slot, on: connection)
    }
  }

  private func begin(_ call: Call, in slot: ConnectionMachine.Slot, on connection: Connection) {
    take(answer(call, from: connection.caller), to: call, in: slot, on: connection)
  }

  private func take(
    _ answer: Answer, to call: Call, in slot: ConnectionMachine.Slot, on connection: Connection
  ) {
    switch answer {
    case .now(let reply):
      connection.machine.finish(slot, with: reply)
    case .later(let work):
      run(slot, on: connection) { await work() }
    case .stream(let work):
      guard call.more else {
        connection.machine.finish(slot, with: .failure(.expectedMore))
        return
      }
      connection.streams.insert(slot)
      let stream = ReplyStream(server: self, connection: connection.id, slot: slot)
      run(slot, on: connection) { await work(stream) }
    }
  }

  private func answer(_ call: Call, from caller: Caller) -> Answer {
    switch router.route(call.method) {
    case .service: .now(router.service.answer(call))
    case .handler: handler.answer(call, from: caller)
    case .failure(let error): .now(.failure(error))
    }
  }

  private func run(
    _ slot: ConnectionMachine.Slot, on connection: Connection,
    _ work: @escaping @Sendable () async -> Reply
  ) {
    let id = connection.id
    guard mayRunAnother(connection) else {
      leave(connection)
      return
    }
    connection.tasks[slot] = .some(nil)
    // Immediate: calls begin in the order in which they came, also beside those answered at once.
    // The preference keeps on the loop what in the handler has no isolation of its own.
    let task = Task.immediate {
      let reply = await withTaskExecutorPreference(loop) { await work() }
      self.finish(slot, of: id, with: reply)
    }
    if connection.tasks.index(forKey: slot) != nil { connection.tasks[slot] = task }
  }

  private func finish(_ slot: ConnectionMachine.Slot, of id: UInt64, with reply: Reply) {
    guard let connection = connections[id],
      connection.tasks.removeValue(forKey: slot) != nil
    else { return }
    settle(connection.caller.peer.uid) { $0.tasks -= 1 }
    connection.streams.remove(slot)
    connection.machine.finish(slot, with: reply)
    if connection.isOpen {
      turn(connection)
    } else {
      forgetIfEmpty(connection)
    }
  }

  func send(
    _ parameters: [UInt8], on slot: ConnectionMachine.Slot, of id: UInt64
  ) -> Result<Void, StreamFailure> {
    guard let connection = connections[id], connection.isOpen else { return .failure(.ended) }
    do throws(StreamFailure) {
      try connection.machine.send(parameters, on: slot)
    } catch {
      return .failure(error)
    }
    deliver(connection)
    return .success(())
  }

  /// Writes what there is to write. No call is begun here: a stream's producer is in the middle of
  /// a step of its own, and a call begun in it could see that half done.
  private func deliver(_ connection: Connection) {
    if connection.isInTurn { return }
    if !connection.isPeerGone { write(connection) }
    guard connection.isOpen else { return }
    let outlook = connection.machine.outlook
    account(connection, holding: outlook.heldBytes)
    if connection.isOpen { prepareNextTurn(connection, outlook) }
  }

  // MARK: Stopping

  /// Accepts and reads no more. Streams are cancelled at once, other calls after
  /// ``Limits/stopGrace``; what they answer is still delivered, for ``Limits/stopFlush`` at most.
  /// Returns when the last connection is closed.
  package func stop() async {
    isStopping = true
    closeListener()
    for connection in connections.values {
      connection.machine.refuseInput()
      for slot in connection.streams { connection.tasks[slot]??.cancel() }
      turn(connection)
    }
    if connections.isEmpty { return }
    let cancelAt = loop.now.advanced(by: limits.stopGrace)
    let cut = loop.schedule(at: cancelAt) { [self] in assumeIsolated { $0.cancelAll() } }
    let close = loop.schedule(at: cancelAt.advanced(by: limits.stopFlush)) { [self] in
      assumeIsolated { $0.closeAll() }
    }
    await withCheckedContinuation { stopWaiters.append($0) }
    loop.cancel(cut)
    loop.cancel(close)
  }

  private func cancelAll() {
    for connection in connections.values {
      for task in connection.tasks.values { task?.cancel() }
    }
  }

  private func closeAll() {
    for connection in connections.values {
      leave(connection)
      connection.tasks = [:]
      forgetIfEmpty(connection)
    }
  }

  private func endStop() {
    if let timer = memory.timer { loop.cancel(timer) }
    let waiters = stopWaiters
    stopWaiters = []
    for waiter in waiters { waiter.resume() }
  }
}

extension EventLoop.Readiness {
  /// Watched for nothing but that both directions are closed, which epoll reports unasked (EPOLLHUP
  /// and EPOLLERR, epoll_ctl(2)). Without it a client that has ended its sending side, or one that
  /// is not read from, could leave unseen. ``hangup`` would report the half-closed one for ever.
  fileprivate static let gone = EventLoop.Readiness(rawValue: 1 << 7)
}
