import Glibc
package import JSON
package import Platform

/// Why a client's call has no reply.
package enum ClientError: Error, Equatable, Sendable {
  /// Nobody serves there, or the file's mode forbids it (`code` is an errno, EACCES then).
  case unreachable(path: String, code: Int32)
  case timedOut
  /// The server has closed the connection without a reply.
  case connectionClosed
  /// What came back is not Varlink.
  case protocolViolation(String)
  /// The method's own error.
  case failure(VarlinkError)
}

/// A blocking client: one call at a time, with a deadline. For command lines and tests.
///
/// After any error but ``ClientError/failure(_:)``, and after a stream that was left early, replies
/// could be taken for those of another call; the connection is closed then, and later calls throw
/// ``ClientError/connectionClosed``.
package struct VarlinkClient: ~Copyable {
  /// Replies have no bound of their own; one that is larger than this is no answer but a fault.
  private static let maxReplyBytes = 256 * 1024 * 1024
  /// As deep as the JSON layer reads what a server may pass on.
  private static let maxReplyDepth = 512

  private var descriptor: FileDescriptor?
  let buffer = ReceiveBuffer(count: 64 * 1024)
  var decoder = FrameDecoder(maxMessageBytes: maxReplyBytes)

  /// Who serves, by the kernel's word (SO_PEERCRED): to be looked at before a secret is sent.
  package let serverCredentials: PeerCredentials

  package init(
    connectingTo path: String, timeout: Duration = .seconds(5)
  ) throws(ClientError) {
    let descriptor: FileDescriptor
    do throws(SocketError) {
      descriptor = try UnixSocket.connect(to: path, timeout: timeout)
    } catch {
      guard case .system(let cause) = error else {
        throw .unreachable(path: path, code: ENAMETOOLONG)
      }
      throw cause.code == EAGAIN ? .timedOut : .unreachable(path: path, code: cause.code)
    }
    do throws(SystemError) {
      serverCredentials = try UnixSocket.peer(of: descriptor.rawValue)
    } catch {
      throw .unreachable(path: path, code: error.code)
    }
    self.descriptor = consume descriptor
  }

  /// Calls and waits for the reply's parameters. A `timeout` of nil waits as long as it takes.
  package mutating func call(
    _ method: String, _ parameters: [String: JSONValue] = [:], timeout: Duration? = nil
  ) throws(ClientError) -> JSONValue {
    let deadline = Deadline(after: timeout)
    try write(Call(method: method, parameters: parameters), deadline)
    let reply = try read(deadline)
    if reply.continues {
      close()
      throw .protocolViolation("several replies to a call for one")
    }
    return .object(try success(reply))
  }

  /// Calls with `more` and shows each reply, the last included, until `each` returns false.
  /// `timeout` bounds the wait for each reply.
  package mutating func stream(
    _ method: String, _ parameters: [String: JSONValue] = [:], timeout: Duration? = nil,
    _ each: (JSONValue) -> Bool
  ) throws(ClientError) {
    try write(
      Call(method: method, parameters: parameters, more: true), Deadline(after: timeout))
    while true {
      let reply = try read(Deadline(after: timeout))
      let goesOn = each(.object(try success(reply)))
      if !reply.continues { return }
      if !goesOn {
        close()
        return
      }
    }
  }

  func success(
    _ reply: Envelope.IncomingReply
  ) throws(ClientError) -> [String: JSONValue] {
    guard let name = reply.error else { return reply.parameters }
    throw .failure(VarlinkError(name: name, parameters: reply.parameters))
  }

  mutating func close() {
    descriptor = nil
    decoder.release()
  }

  // MARK: Bytes

  var rawDescriptor: Int32? {
    switch descriptor {
    case .some(let descriptor): descriptor.rawValue
    case nil: nil
    }
  }

  mutating func write(_ call: Call, _ deadline: Deadline) throws(ClientError) {
    let bytes = Envelope.encode(call)
    var sent = 0
    while sent < bytes.count {
      guard let raw = rawDescriptor else { throw .connectionClosed }
      switch bytes[sent...].withUnsafeBytes({ SocketIO.send($0, to: raw) }) {
      case .bytes(let count): sent += count
      case .nothing: try wait(raw, POLLOUT, deadline)
      case .broken:
        close()
        throw .connectionClosed
      }
    }
  }

  private mutating func read(_ deadline: Deadline) throws(ClientError) -> Envelope.IncomingReply {
    while true {
      if let message = try nextMessage() { return try decode(message) }
      guard let raw = rawDescriptor else { throw .connectionClosed }
      switch SocketIO.receive(from: raw, into: buffer.bytes) {
      case .bytes(let count):
        buffer.take(count) { decoder.append($0) }
      case .nothing: try wait(raw, POLLIN, deadline)
      case .end, .broken:
        close()
        throw .connectionClosed
      }
    }
  }

  mutating func nextMessage() throws(ClientError) -> [UInt8]? {
    do throws(FrameTooLong) {
      return try decoder.next()
    } catch {
      close()
      throw .protocolViolation("a reply of more than \(Self.maxReplyBytes) bytes")
    }
  }

  mutating func decode(
    _ message: [UInt8]
  ) throws(ClientError) -> Envelope.IncomingReply {
    do throws(MalformedMessage) {
      return try Envelope.decodeReply(message, maxDepth: Self.maxReplyDepth)
    } catch {
      close()
      throw .protocolViolation(error.description)
    }
  }

  private mutating func wait(
    _ raw: Int32, _ event: Int32, _ deadline: Deadline
  ) throws(ClientError) {
    var entry = pollfd(fd: raw, events: Int16(event), revents: 0)
    while true {
      let result = poll(&entry, 1, deadline.millisecondsLeft)
      if result > 0 { return }
      if result == 0, deadline.millisecondsLeft == 0 {
        close()
        throw .timedOut
      }
      if result < 0, errno != EINTR {
        close()
        throw .connectionClosed
      }
    }
  }
}

/// A moment on the clock that nobody sets, for poll(2).
struct Deadline {
  private let end: ContinuousClock.Instant?

  init(after timeout: Duration?) {
    end = timeout.map { ContinuousClock.now + $0 }
  }

  private init(end: ContinuousClock.Instant?) {
    self.end = end
  }

  func earlier(_ other: Deadline) -> Deadline {
    guard let end, let theirs = other.end else { return end == nil ? other : self }
    return Deadline(end: min(end, theirs))
  }

  /// Rounded up, so that a wait never ends early and then turns in circles; -1 is without end.
  var millisecondsLeft: Int32 {
    guard let end else { return -1 }
    let left = ContinuousClock.now.duration(to: end)
    if left <= .zero { return 0 }
    return Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up)))
  }
}
