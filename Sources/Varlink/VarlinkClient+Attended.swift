import Glibc
package import JSON

/// What ends one wait of ``VarlinkClient/stream(_:_:first:alongside:tick:_:)``.
package enum StreamStep: Sendable {
  case reply(JSONValue)
  /// This descriptor can be read from, or has ended.
  case ready(Int32)
  /// So much time has passed since the last reply or tick.
  case tick
}

extension VarlinkClient {
  /// As ``stream(_:_:timeout:_:)``, for a program that has something else to attend to while it
  /// waits: a signal, its standard input, a clock on the screen. `each` returns false to leave; it
  /// is expected to take what a descriptor has, or it is told again at once. Within `first` the
  /// server has to show that it is there; what comes after the first reply may take as long as it
  /// takes.
  package mutating func stream(
    _ method: String, _ parameters: [String: JSONValue] = [:], first: Duration,
    alongside others: () -> [Int32], tick: Duration?, _ each: (StreamStep) -> Bool
  ) throws(ClientError) {
    var patience = Deadline(after: first)
    try write(Call(method: method, parameters: parameters, more: true), patience)
    var nextTick = Deadline(after: tick)
    while true {
      if let message = try nextMessage() {
        let reply = try decode(message)
        patience = Deadline(after: nil)
        let goesOn = each(.reply(.object(try success(reply))))
        if !reply.continues { return }
        if !goesOn { return close() }
        continue
      }
      guard let raw = rawDescriptor else { throw .connectionClosed }
      switch SocketIO.receive(from: raw, into: buffer.bytes) {
      case .bytes(let count):
        buffer.take(count) { decoder.append($0) }
      case .nothing:
        if patience.millisecondsLeft == 0 {
          close()
          throw .timedOut
        }
        let step = try wait(raw, others(), nextTick, patience)
        if case .tick? = step { nextTick = Deadline(after: tick) }
        if let step, !each(step) { return close() }
      case .end, .broken:
        close()
        throw .connectionClosed
      }
    }
  }

  /// Nil: the socket has something.
  private mutating func wait(
    _ raw: Int32, _ others: [Int32], _ tick: Deadline, _ patience: Deadline
  ) throws(ClientError) -> StreamStep? {
    var entries = ([raw] + others).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while true {
      let result = poll(&entries, nfds_t(entries.count), tick.earlier(patience).millisecondsLeft)
      // The socket is asked again in any case.
      if result > 0 { return entries.dropFirst().first { $0.revents != 0 }.map { .ready($0.fd) } }
      if result == 0, tick.millisecondsLeft == 0 { return .tick }
      if result == 0, patience.millisecondsLeft == 0 { return nil }
      if result < 0, errno != EINTR {
        close()
        throw .connectionClosed
      }
    }
  }
}
