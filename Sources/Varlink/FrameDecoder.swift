/// A message that passed ``Limits/maxMessageBytes``; nothing after it can be trusted to be framed.
package struct FrameTooLong: Error, Equatable, Sendable {}

/// Cuts a byte stream into messages, each ended by one NUL (Varlink, "Message format"). Fed any
/// chunks, it gives the same messages; it looks at every byte once, and holds no memory while no
/// message is cut short.
package struct FrameDecoder: Sendable {
  private let maxMessageBytes: Int
  private var buffer: [UInt8] = []
  /// Where the next message begins, and up to where no NUL was found.
  private var start = 0
  private var scanned = 0

  package init(maxMessageBytes: Int) {
    self.maxMessageBytes = maxMessageBytes
  }

  /// Whether bytes wait, be it of whole messages or of a part of one.
  package var isEmpty: Bool { start == buffer.count }

  /// How many bytes it holds memory for.
  var heldBytes: Int { buffer.capacity }

  package mutating func append(_ bytes: some RandomAccessCollection<UInt8>) {
    if isEmpty {
      buffer = Array(bytes)
      start = 0
      scanned = 0
    } else {
      compact()
      buffer.append(contentsOf: bytes)
    }
  }

  /// The next whole message without its NUL, or nil where more bytes are needed.
  package mutating func next() throws(FrameTooLong) -> [UInt8]? {
    guard let message = try nextPlace() else { return nil }
    return copy(message)
  }

  /// Where the next whole message is; the place is good until the decoder is changed.
  mutating func nextPlace() throws(FrameTooLong) -> Range<Int>? {
    guard let end = firstEnd else {
      scanned = buffer.count
      if buffer.count - start > maxMessageBytes { throw FrameTooLong() }
      shrink()
      return nil
    }
    if end - start > maxMessageBytes { throw FrameTooLong() }
    defer {
      start = end + 1
      scanned = start
    }
    return start..<end
  }

  func copy(_ message: Range<Int>) -> [UInt8] { Array(buffer[message]) }

  func withBytes<Result>(
    of message: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    buffer.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[message])) }
  }

  /// Whether ``next()`` would give a message or throw.
  package var hasNext: Bool {
    firstEnd != nil || buffer.count - start > maxMessageBytes
  }

  package mutating func release() {
    buffer = []
    start = 0
    scanned = 0
  }

  private var firstEnd: Int? {
    buffer.withUnsafeBytes { all in
      SocketIO.firstNUL(in: UnsafeRawBufferPointer(rebasing: all[scanned...])).map { $0 + scanned }
    }
  }

  /// What stays is a part of a message, for as long as its client likes: it keeps no room that
  /// it does not need.
  private mutating func shrink() {
    if isEmpty {
      release()
    } else if buffer.capacity > 2 * (buffer.count - start) + 256 {
      buffer = Array(buffer[start...])
      scanned -= start
      start = 0
    }
  }

  private mutating func compact() {
    if start == 0 { return }
    buffer.removeFirst(start)
    scanned -= start
    start = 0
  }
}
