import CMicrohttpd
import Glibc

/// libmicrohttpd with one polling thread. A request that has to wait is suspended there, so that
/// it keeps no thread and holds up no other.
///
/// `@unchecked Sendable`: `daemon` and `timer` are touched by `start` and `stop` alone, which their
/// one owner calls in turn; all else is in the monitor.
final class Server: @unchecked Sendable {
  let monitor: Monitor<ServerState>
  private let onLine: (@Sendable (String) -> Void)?
  private var daemon: OpaquePointer?
  private var timer: pthread_t?
  private(set) var port: UInt16 = 0

  init(_ options: DemoOptions) {
    monitor = Monitor(ServerState(Service(options)))
    onLine = options.onLine
  }

  func start(port wanted: UInt16) throws(DemoUpstreamError) {
    monitor.withLock { $0.isStopping = false }
    let context = Unmanaged.passUnretained(self).toOpaque()
    errno = 0
    daemon = demo_mhd_start(
      wanted, 16384, context, handleRequest, beginRequest, endRequest, noteConnection)
    guard let daemon else { throw DemoUpstreamError(port: wanted, code: errno) }
    port = demo_mhd_port(daemon)
    startTimer()
  }

  /// Ends all that is under way, without answers, and closes the port.
  func stop() {
    guard let daemon else { return }
    let waiters = monitor.withLock { state in
      state.isStopping = true
      for name in state.held.keys { letGo(&state, name) }
      for name in state.stalled.keys { letGo(&state, name) }
      for alarm in state.alarms { resume(alarm.exchange) }
      state.alarms = []
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume() }
    if let timer { pthread_join(timer, nil) }
    timer = nil
    MHD_stop_daemon(daemon)
    self.daemon = nil
  }

  /// Opens a hold for all who wait at it, and for all who will come to it.
  func release(_ name: String) {
    monitor.withLock { state in
      state.released.insert(name)
      letGo(&state, name)
    }
  }

  private func letGo(_ state: inout ServerState, _ name: String) {
    for exchange in state.held.removeValue(forKey: name) ?? [] { resume(exchange) }
    for body in state.stalled.removeValue(forKey: name) ?? [] {
      body.isReleased = true
      MHD_resume_connection(body.connection)
    }
  }

  /// Under the lock: the first wait is over.
  private func resume(_ exchange: Exchange) {
    guard exchange.isSuspended else { return }
    exchange.isSuspended = false
    exchange.waits.removeFirst()
    exchange.waitHasBegun = false
    MHD_resume_connection(exchange.connection)
  }

  // MARK: The timer's thread

  private func startTimer() {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    let code = pthread_create(&thread, nil, runTimer, context)
    if code == 0 {
      timer = thread
    } else {
      Unmanaged<Server>.fromOpaque(context).release()
    }
  }

  fileprivate func runAlarms() {
    var isStopping = false
    while !isStopping {
      _ = monitor.wait(
        deadline: { $0.alarms.map(\.due).min() },
        until: { $0.isStopping })
      isStopping = monitor.withLock { state in
        let now = ContinuousClock.now
        for alarm in state.alarms where alarm.due <= now { resume(alarm.exchange) }
        state.alarms.removeAll { $0.due <= now }
        return state.isStopping
      }
    }
  }

  // MARK: The server's thread

  fileprivate func connectionChanged(_ connection: OpaquePointer, _ isNew: Bool) {
    let descriptor = demo_mhd_descriptor(connection)
    monitor.withLock { state in
      if isNew {
        state.lastConnection += 1
        state.openConnections += 1
        state.connectionNumbers[descriptor] = state.lastConnection
      } else {
        state.openConnections -= 1
      }
    }
  }

  /// A request that is whole: it is logged, gets its step, and the service does its part.
  func arrive(_ exchange: Exchange) {
    let request = Request(
      method: Method(exchange.method), target: exchange.target, headers: exchange.headers,
      body: exchange.body)
    exchange.request = request
    let descriptor = demo_mhd_descriptor(exchange.connection)
    monitor.withLock { state in
      exchange.step = state.nextStep(request.method, request.path)
      exchange.waits = exchange.step.waits
      exchange.entry = state.append(
        LogEntry(request, connection: state.connectionNumbers[descriptor] ?? 0))
      state.opened(request.path)
      if !exchange.step.worksLate { work(exchange, &state) }
    }
  }

  private func work(_ exchange: Exchange, _ state: inout ServerState) {
    guard let request = exchange.request, exchange.answer == nil else { return }
    switch exchange.step.work {
    case .normal:
      let known = state.service.exchanges.count
      exchange.answer = state.service.answer(request)
      for index in known..<state.service.exchanges.count {
        state.service.exchanges[index].entry = exchange.entry
        state.service.exchanges[index].isAnswered = exchange.step.isPlain
      }
    case .fixed(let answer): exchange.answer = answer
    case .none: break
    }
  }

  enum Progress { case deliver, suspended, stopping }

  /// Suspends the exchange at its first wait that is not over.
  func waitIfNeeded(_ exchange: Exchange) -> Progress {
    var arrived: [ServerState.Arrival] = []
    let progress = monitor.withLock { state -> Progress in
      while let wait = exchange.waits.first {
        if state.isStopping { return .stopping }
        if case .hold(let name) = wait {
          if !exchange.waitHasBegun { arrived += state.noteArrival(name) }
          if state.released.contains(name) {
            exchange.waits.removeFirst()
            continue
          }
        }
        exchange.waitHasBegun = true
        exchange.isSuspended = true
        MHD_suspend_connection(exchange.connection)
        switch wait {
        case .hold(let name): state.held[name, default: []].append(exchange)
        case .delay(let span):
          state.alarms.append((ContinuousClock.now.advanced(by: span), exchange))
        }
        return .suspended
      }
      if state.isStopping { return .stopping }
      work(exchange, &state)
      finishEntry(exchange, &state)
      return .deliver
    }
    for waiter in arrived { waiter.continuation.resume() }
    if progress == .deliver { writeLine(exchange) }
    return progress
  }

  /// The status stands in the log before the client can have it.
  private func finishEntry(_ exchange: Exchange, _ state: inout ServerState) {
    switch exchange.step.delivery {
    case .drop, .reset, .raw: break
    default: state.setStatus(exchange.answer?.status, of: exchange.entry)
    }
  }

  private func writeLine(_ exchange: Exchange) {
    guard let onLine else { return }
    let line = monitor.withLock { $0.entry(exchange.entry)?.line }
    if let line { onLine(line) }
  }

  /// Suspends a body that has come to its stall; false where it need not wait.
  func stall(_ body: StalledBody) -> Bool {
    var arrived: [ServerState.Arrival] = []
    let suspended = monitor.withLock { state in
      arrived = state.noteArrival(body.name)
      if state.isStopping || state.released.contains(body.name) {
        body.isReleased = true
        return false
      }
      MHD_suspend_connection(body.connection)
      state.stalled[body.name, default: []].append(body)
      return true
    }
    for waiter in arrived { waiter.continuation.resume() }
    return suspended
  }

  fileprivate func end(_ exchange: Exchange) {
    guard let path = exchange.request?.path else { return }
    monitor.withLock { $0.closed(path) }
  }
}

// What libmicrohttpd and pthread call. The context is the server, which outlives its daemon; an
// exchange is retained from the request's first line to its end.

private func runTimer(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<Server>.fromOpaque(context).takeRetainedValue().runAlarms()
  return nil
}

private func server(_ context: UnsafeMutableRawPointer?) -> Server? {
  context.map { Unmanaged<Server>.fromOpaque($0).takeUnretainedValue() }
}

private func noteConnection(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ code: MHD_ConnectionNotificationCode
) {
  guard let connection else { return }
  server(context)?.connectionChanged(connection, demo_mhd_started(code) != 0)
}

private func beginRequest(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?,
  _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let connection, let target else { return nil }
  let exchange = Exchange(connection: connection, target: String(cString: target))
  return Unmanaged.passRetained(exchange).toOpaque()
}

private func endRequest(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
  guard let slot, let pointer = slot.pointee else { return }
  slot.pointee = nil
  server(context)?.end(Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue())
}

private func handleRequest(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
  _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ size: UnsafeMutablePointer<Int>?,
  _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let server = server(context), let method, let size, let pointer = slot?.pointee else {
    return .NO
  }
  let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
  let chunk = UnsafeRawBufferPointer(start: data, count: size.pointee)
  size.pointee = 0
  return server.advance(exchange, method: String(cString: method), chunk: chunk)
}
