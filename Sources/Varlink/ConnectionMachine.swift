/// Why a stream takes no more replies.
package enum StreamFailure: Error, Equatable, Sendable {
  /// More than ``Limits/maxUnreadBytes`` wait behind the reply being sent. The stream may still
  /// return its last reply, and should: with its own error for a slow client.
  case tooSlow
  /// The client is gone, or the stream has returned already.
  case ended
}

/// One connection's protocol without its input and output: bytes in, calls out, replies in, bytes
/// out. It holds what must be true of every connection: each call but a oneway one is answered
/// exactly once (I7) and in the order of the calls; a oneway call never; memory and tasks that a
/// client can cause are bounded by not reading on.
package struct ConnectionMachine: Sendable {
  /// Names a call under way.
  package enum Slot: Hashable, Sendable {
    case awaited(UInt64)
    case oneway(UInt64)
  }

  /// What is to be done next with the input.
  package enum Step: Equatable, Sendable {
    case begin(Slot, Call)
    /// A call whose text is known already.
    case answer(Slot, PreparedCall)
    /// Nothing until more bytes come, a call is answered, or output is taken.
    case wait
    /// The bytes are not Varlink. Nothing more is begun; the connection has to be closed.
    case violation(MalformedMessage)
  }

  /// Replies that wait for those of earlier calls.
  private struct Held {
    var bytes: [UInt8] = []
    /// Where each message in `bytes` ends.
    var ends: [Int] = []
    var isFinished = false
  }

  private let limits: Limits
  private var decoder: FrameDecoder
  private var violation: MalformedMessage?
  /// The client has ended its sending side, or the server reads no more.
  package private(set) var isInputEnded = false

  /// Awaited calls have consecutive numbers; all before `oldest` were answered.
  private var oldest: UInt64 = 0
  private var nextNumber: UInt64 = 0
  private var onewayRunning = 0
  private var nextOneway: UInt64 = 0
  /// Messages taken from the input so far.
  private(set) var messagesTaken: UInt64 = 0
  private var held: [UInt64: Held] = [:]
  /// Bytes in `held`.
  private var heldBytesInTurn = 0
  private var output: OutputQueue

  package init(limits: Limits) {
    self.limits = limits
    decoder = FrameDecoder(maxMessageBytes: limits.maxMessageBytes)
    output = OutputQueue()
  }

  // MARK: Input

  package mutating func receive(_ bytes: some RandomAccessCollection<UInt8>) {
    if isInputEnded || violation != nil { return }
    decoder.append(bytes)
  }

  /// The client will send no more; what it sent before is still answered. A message cut short is
  /// dropped.
  package mutating func endInput() {
    isInputEnded = true
  }

  /// The server begins no more calls; those under way are still answered.
  package mutating func refuseInput() {
    isInputEnded = true
    decoder.release()
  }

  package mutating func next(_ prepared: inout PreparedCalls) -> Step {
    while true {
      if let violation { return .violation(violation) }
      guard isWithinBounds else { return .wait }
      do throws(MalformedMessage) {
        guard let message = try nextMessage() else { return .wait }
        if let known = decoder.withBytes(of: message, { prepared.known($0) }) {
          return .answer(open(known.call), known)
        }
        let text = decoder.copy(message)
        let incoming = try Envelope.decodeCall(text, maxDepth: limits.maxDepth)
        let slot = open(incoming.call)
        if incoming.upgrade {
          // No method here turns its connection into anything else.
          finish(slot, with: .failure(.methodNotImplemented(incoming.call.method)))
        } else if let known = prepared.take(incoming.call, text: text) {
          return .answer(slot, known)
        } else {
          return .begin(slot, incoming.call)
        }
      } catch {
        violation = error
        decoder.release()
      }
    }
  }

  /// Whether ``next()`` would give something other than to wait.
  package var canStep: Bool {
    violation != nil || (isWithinBounds && decoder.hasNext)
  }

  private mutating func nextMessage() throws(MalformedMessage) -> Range<Int>? {
    do throws(FrameTooLong) {
      guard let message = try decoder.nextPlace() else { return nil }
      messagesTaken += 1
      return message
    } catch {
      throw MalformedMessage("a message of more than \(limits.maxMessageBytes) bytes")
    }
  }

  private mutating func open(_ call: Call) -> Slot {
    if call.oneway {
      defer { nextOneway += 1 }
      onewayRunning += 1
      return .oneway(nextOneway)
    }
    defer { nextNumber += 1 }
    return .awaited(nextNumber)
  }

  // MARK: Bounds

  /// Calls begun and not answered.
  package var pendingCalls: Int { Int(nextNumber - oldest) + onewayRunning }

  /// Bytes behind the reply being sent.
  package var unreadBytes: Int { output.waiting + heldBytesInTurn }

  /// What this connection costs in bytes, besides itself.
  var heldBytes: Int { decoder.heldBytes + output.heldBytes + heldBytesInTurn }

  /// Whether the beginning of a message waits for its end.
  var holdsPart: Bool { !decoder.isEmpty && !decoder.hasNext }

  private var isWithinBounds: Bool {
    pendingCalls < limits.maxPendingCalls && unreadBytes <= limits.maxUnreadBytes
  }

  /// Whether the socket should be read from.
  package var wantsInput: Bool {
    !isInputEnded && violation == nil && isWithinBounds && !decoder.hasNext
  }

  /// Whether all that will ever be done on this connection is done.
  package var isDone: Bool {
    isInputEnded && pendingCalls == 0 && output.isEmpty && !canStep
  }

  /// What a server has to know after each turn, looked up in one go.
  struct Outlook {
    var wantsInput: Bool
    var hasOutput: Bool
    var canStep: Bool
    var holdsPart: Bool
    var isInputEnded: Bool
    var isDone: Bool
    var heldBytes: Int
  }

  var outlook: Outlook {
    let canStep = canStep
    return Outlook(
      wantsInput: !canStep && wantsInput, hasOutput: hasOutput, canStep: canStep,
      holdsPart: !canStep && holdsPart, isInputEnded: isInputEnded, isDone: isDone,
      heldBytes: heldBytes)
  }

  // MARK: Replies

  /// Answers a call for good. A slot that was answered before is ignored.
  package mutating func finish(_ slot: Slot, with reply: Reply) {
    switch slot {
    case .oneway: onewayRunning -= 1
    case .awaited(let number):
      guard isOpen(number) else { return }
      put(reply, continues: false, for: number)
      if number == oldest {
        advance()
      } else {
        held[number, default: Held()].isFinished = true
      }
    }
  }

  /// One reply of several.
  package mutating func send(
    _ parameters: [UInt8], on slot: Slot
  ) throws(StreamFailure) {
    guard case .awaited(let number) = slot, isOpen(number) else { throw .ended }
    guard unreadBytes <= limits.maxUnreadBytes else { throw .tooSlow }
    put(.success(parameters), continues: true, for: number)
  }

  private func isOpen(_ number: UInt64) -> Bool {
    number >= oldest && number < nextNumber
      && (held.isEmpty || held[number]?.isFinished != true)
  }

  private mutating func put(_ reply: Reply, continues: Bool, for number: UInt64) {
    if number == oldest {
      output.append(reply, continues: continues)
      return
    }
    var entry = held.removeValue(forKey: number) ?? Held()
    let before = entry.bytes.count
    Envelope.append(reply, continues: continues, to: &entry.bytes)
    entry.ends.append(entry.bytes.count)
    heldBytesInTurn += entry.bytes.count - before
    held[number] = entry
  }

  /// The oldest call was answered: lets out what waited for it.
  private mutating func advance() {
    oldest += 1
    while !held.isEmpty, let entry = held.removeValue(forKey: oldest) {
      heldBytesInTurn -= entry.bytes.count
      output.append(entry.bytes, ends: entry.ends)
      guard entry.isFinished else { return }
      oldest += 1
    }
  }

  // MARK: Output

  /// Works in the server's room from here to ``giveBack(_:)``.
  mutating func borrow(_ room: inout OutputQueue.Room) { output.borrow(&room) }

  mutating func giveBack(_ room: inout OutputQueue.Room) { output.giveBack(&room) }

  package var hasOutput: Bool { !output.isEmpty }

  /// Shows the bytes to be written; `write` says how many it took, which are then gone.
  package mutating func takeOutput(_ write: (UnsafeRawBufferPointer) -> Int) {
    output.take(write)
  }
}
