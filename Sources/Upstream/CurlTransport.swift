import CCurl
package import Execution
package import Platform
package import Requests
package import Secrets

/// HTTP by libcurl's multi interface, on the event loop: its sockets and its timer are the loop's.
/// No thread of its own but one for the length of a look-up.
///
/// Every transfer ends exactly once: by its answer, its deadline, its task's cancellation, or
/// ``close()``. libcurl's callbacks run synchronously inside the calls made here, so all tables are
/// in order before any such call.
package actor CurlTransport: Transport {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  private let loop: EventLoop
  private let settings: TransportSettings
  private let multi: MultiHandle
  private var transfers: [UInt64: Transfer] = [:]
  private var names: [UnsafeMutableRawPointer: UInt64] = [:]
  private var nextName: UInt64 = 0
  private var watched: Set<Int32> = []
  private var timer: TimerID?
  private var isClosed = false
  /// Until then no kept connection is used: one of them left a request unanswered until its
  /// deadline. Giving a request up does not end the connection where others share it (HTTP/2), and a
  /// connection that leads nowhere any more says nothing of it.
  private var distrustUntil = Instant(nanoseconds: 0)

  /// libcurl itself lets go of what has not been used for 118 s.
  private static let distrust = Duration.seconds(120)

  /// Redirects that are followed for one request.
  private static let maxRedirects = 5

  package init(loop: EventLoop, settings: TransportSettings) throws(TransportError) {
    let multi = try MultiHandle()
    self.loop = loop
    self.settings = settings
    self.multi = multi
    unownedExecutor = loop.asUnownedSerialExecutor()
    multi.connect(to: Unmanaged.passUnretained(self).toOpaque())
  }

  /// How many requests are on their way.
  package var inFlight: Int { transfers.count }

  package func send(
    _ request: HTTPRequest, bearer: consuming Secret?, deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    var target = try RequestTarget(request.url)
    for _ in 0...CurlTransport.maxRedirects {
      let transfer = try makeTransfer(request, to: target, bearer: bearer)
      let response = try await run(transfer, until: deadline).get()
      guard let next = try CurlTransport.redirect(request, from: target, by: response) else {
        return response
      }
      target = next
    }
    throw TransportError(
      .malformed,
      reason: "\(target.origin) redirected more than \(CurlTransport.maxRedirects) times")
  }

  /// Ends all that is on its way and lets go of every connection. Later requests fail.
  package func close() {
    isClosed = true
    for name in Array(transfers.keys) {
      finish(name, .failure(TransportError(.cancelled, reason: "the daemon is stopping")))
    }
    multi.close()
    for descriptor in watched { loop.unwatch(descriptor) }
    watched = []
    if let timer { loop.cancel(timer) }
    timer = nil
  }

  /// Where the answer sends the request next; nil: it is the answer.
  private static func redirect(
    _ request: HTTPRequest, from target: RequestTarget, by response: HTTPResponse
  ) throws(TransportError) -> RequestTarget? {
    guard request.redirects == .sameOrigin, request.method == .get,
      [301, 302, 303, 307, 308].contains(response.status),
      let location = response.field("Location")
    else { return nil }
    guard let next = target.redirected(to: location) else {
      throw TransportError(.malformed, reason: "\(target.origin) redirected to no usable URL")
    }
    guard next.origin == target.origin else {
      throw TransportError(
        .malformed,
        reason: "\(target.origin) redirected to another origin, \(next.origin): not followed")
    }
    return next
  }

  // MARK: One transfer

  private func makeTransfer(
    _ request: HTTPRequest, to target: RequestTarget, bearer: borrowing Secret?
  ) throws(TransportError) -> Transfer {
    guard
      let transfer = Transfer(
        to: target, settings: settings, holdsSecrets: request.holdsSecrets)
    else { throw TransportError(.unreachable, reason: "no memory for a request") }
    try transfer.prepare(
      request, target: target, bearer: bearer, settings: settings,
      onNewConnection: request.connection == .own || loop.now < distrustUntil)
    return transfer
  }

  private func run(
    _ transfer: Transfer, until deadline: Instant
  ) async -> Result<HTTPResponse, TransportError> {
    let name = nextName
    nextName += 1
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(transfer, as: name, until: deadline, continuation)
      }
    } onCancel: {
      Task(executorPreference: loop) { await self.cancel(name) }
    }
  }

  private func start(
    _ transfer: Transfer, as name: UInt64, until deadline: Instant,
    _ continuation: CheckedContinuation<Result<HTTPResponse, TransportError>, Never>
  ) {
    // The handler may have run before there was anything to cancel.
    if Task.isCancelled {
      continuation.resume(returning: .failure(CurlTransport.cancelled))
    } else if isClosed {
      continuation.resume(
        returning: .failure(TransportError(.cancelled, reason: "the daemon is stopping")))
    } else if deadline <= loop.now {
      continuation.resume(returning: .failure(transfer.timedOut))
    } else {
      transfer.continuation = continuation
      transfers[name] = transfer
      names[transfer.easy] = name
      if deadline != .distantFuture {
        // Ours, not libcurl's: this clock goes on while the machine sleeps.
        transfer.deadlineTimer = loop.schedule(at: deadline) { [weak self] in
          self?.assumeIsolated { $0.expire(name) }
        }
      }
      let code = curl_multi_add_handle(multi.raw, transfer.easy)
      if code != CURLM_OK {
        finish(
          name,
          .failure(
            TransportError(.unreachable, reason: String(cString: curl_multi_strerror(code)))))
      }
    }
  }

  private static let cancelled = TransportError(.cancelled, reason: "the request was given up")

  private func cancel(_ name: UInt64) {
    finish(name, .failure(CurlTransport.cancelled))
  }

  private func expire(_ name: UInt64) {
    guard let transfer = transfers[name] else { return }
    if transfer.isUnanswered { distrustUntil = loop.now.advanced(by: Self.distrust) }
    finish(name, .failure(transfer.timedOut))
  }

  private func finish(_ name: UInt64, _ outcome: Result<HTTPResponse, TransportError>) {
    guard let transfer = transfers.removeValue(forKey: name) else { return }
    names[transfer.easy] = nil
    if let timer = transfer.deadlineTimer { loop.cancel(timer) }
    curl_multi_remove_handle(multi.raw, transfer.easy)
    transfer.continuation?.resume(returning: outcome)
    transfer.continuation = nil
  }

  // MARK: libcurl's sockets and timer

  private func act(on descriptor: curl_socket_t, _ events: Int32) {
    var running: Int32 = 0
    curl_multi_socket_action(multi.raw, descriptor, events, &running)
    var code = CURLE_OK
    while let easy = brewlog_multi_next_ended(multi.raw, &code) {
      guard let name = names[easy], let transfer = transfers[name] else { continue }
      finish(name, transfer.outcome(code))
    }
  }

  /// libcurl wants to know when this socket is ready, or no longer. False: it cannot be watched.
  fileprivate func watch(_ descriptor: Int32, _ what: Int32) -> Bool {
    let interest: EventLoop.Readiness
    switch what {
    case CURL_POLL_IN: interest = .readable
    case CURL_POLL_OUT: interest = .writable
    case CURL_POLL_INOUT: interest = [.readable, .writable]
    default:
      if watched.remove(descriptor) != nil { loop.unwatch(descriptor) }
      return true
    }
    if watched.contains(descriptor) {
      if (try? loop.update(descriptor, for: interest)) != nil { return true }
      // Another socket under an old number.
      loop.unwatch(descriptor)
    }
    do throws(SystemError) {
      try loop.watch(descriptor, for: interest) { [weak self] readiness in
        self?.assumeIsolated { $0.ready(descriptor, readiness) }
      }
      watched.insert(descriptor)
      return true
    } catch {
      watched.remove(descriptor)
      return false
    }
  }

  private func ready(_ descriptor: Int32, _ readiness: EventLoop.Readiness) {
    var events: Int32 = 0
    // A hang-up shows to libcurl as what its next read or write returns.
    if readiness.contains(.readable) || readiness.contains(.hangup) { events |= CURL_CSELECT_IN }
    if readiness.contains(.writable) || readiness.contains(.hangup) { events |= CURL_CSELECT_OUT }
    act(on: descriptor, events)
  }

  /// libcurl wants to be called after so many milliseconds; below zero: not at all.
  fileprivate func setTimer(_ milliseconds: Int) {
    if let timer { loop.cancel(timer) }
    timer = nil
    if milliseconds < 0 { return }
    let deadline = loop.now.advanced(by: .milliseconds(milliseconds))
    timer = loop.schedule(at: deadline) { [weak self] in
      self?.assumeIsolated { $0.timeUp() }
    }
  }

  private func timeUp() {
    timer = nil
    act(on: CURL_SOCKET_TIMEOUT, 0)
  }
}

/// Owns a multi handle, and with it the kept connections.
private final class MultiHandle {
  let raw: UnsafeMutableRawPointer
  private var isOpen = true

  /// Idle connections that are kept.
  private static let maxIdle = 4

  /// Once in a process, before anything else of libcurl.
  private static let started = brewlog_curl_start()

  init() throws(TransportError) {
    guard MultiHandle.started == CURLE_OK, let raw = curl_multi_init() else {
      throw TransportError(.unreachable, reason: "libcurl does not start")
    }
    self.raw = raw
    brewlog_multi_set_long(raw, CURLMOPT_MAXCONNECTS, MultiHandle.maxIdle)
  }

  /// `transport` is not retained: it owns this handle.
  func connect(to transport: UnsafeMutableRawPointer) {
    brewlog_multi_set_socket_function(raw, socketChanged)
    brewlog_multi_set_pointer(raw, CURLMOPT_SOCKETDATA, transport)
    brewlog_multi_set_timer_function(raw, timerChanged)
    brewlog_multi_set_pointer(raw, CURLMOPT_TIMERDATA, transport)
  }

  func close() {
    guard isOpen else { return }
    isOpen = false
    // The transport may be gone already.
    brewlog_multi_set_socket_function(raw, nil)
    brewlog_multi_set_timer_function(raw, nil)
    curl_multi_cleanup(raw)
  }

  deinit {
    close()
  }
}

private func socketChanged(
  _ easy: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32,
  _ context: UnsafeMutableRawPointer?, _ unused: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return -1 }
  let transport = Unmanaged<CurlTransport>.fromOpaque(context).takeUnretainedValue()
  return transport.assumeIsolated { $0.watch(descriptor, what) } ? 0 : -1
}

private func timerChanged(
  _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return -1 }
  let transport = Unmanaged<CurlTransport>.fromOpaque(context).takeUnretainedValue()
  transport.assumeIsolated { $0.setTimer(milliseconds) }
  return 0
}
