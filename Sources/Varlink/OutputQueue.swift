/// The bytes on their way to a client in one run, so that one write takes all, with the ends of
/// the messages in them: what waits behind the message being sent is what a slow client is
/// measured by.
struct OutputQueue: Sendable {
  private var bytes: [UInt8] = []
  private var sent = 0
  /// Ends of messages not sent to their end, as positions in all that was ever queued.
  private var ends: [Int] = []
  private var firstEnd = 0
  /// Where `bytes` begins in all that was ever queued.
  private var origin = 0
  /// The room for bytes is the server's, for the length of a turn.
  private var isLent = false

  /// Room that whoever writes at the moment works in, so that a reply costs no allocation and an
  /// idle connection no memory.
  struct Room: Sendable {
    fileprivate var bytes: [UInt8] = []
    fileprivate var ends: [Int] = []
  }

  /// Beyond this it goes back to the system.
  private static let mostRoom = 256 * 1024

  var isEmpty: Bool { sent == bytes.count }

  /// Bytes that are held, those of the message being sent included.
  var heldBytes: Int { bytes.count }

  /// Bytes behind the message being sent.
  var waiting: Int {
    firstEnd < ends.count ? origin + bytes.count - ends[firstEnd] : 0
  }

  mutating func append(_ reply: Reply, continues: Bool) {
    Envelope.append(reply, continues: continues, to: &bytes)
    ends.append(origin + bytes.count)
  }

  /// Whole messages, with the end of each in `messages`.
  mutating func append(_ messages: [UInt8], ends newEnds: [Int]) {
    let base = origin + bytes.count
    bytes.append(contentsOf: messages)
    ends.append(contentsOf: newEnds.map { base + $0 })
  }

  mutating func take(_ write: (UnsafeRawBufferPointer) -> Int) {
    if isEmpty { return }
    sent += bytes.withUnsafeBytes { all in
      min(max(0, write(UnsafeRawBufferPointer(rebasing: all[sent...]))), all.count - sent)
    }
    while firstEnd < ends.count, ends[firstEnd] <= origin + sent { firstEnd += 1 }
    compact()
  }

  mutating func borrow(_ room: inout Room) {
    guard isEmpty, !isLent else { return }
    swap(&bytes, &room.bytes)
    swap(&ends, &room.ends)
    isLent = true
  }

  /// Gives the room back, unless something is left in it: then it is the queue's own.
  mutating func giveBack(_ room: inout Room) {
    guard isLent else { return }
    isLent = false
    guard isEmpty else { return }
    if room.bytes.capacity == 0, bytes.capacity <= Self.mostRoom {
      swap(&bytes, &room.bytes)
      swap(&ends, &room.ends)
    } else {
      bytes = []
      ends = []
    }
  }

  /// An idle connection holds no memory; a long queue is moved up only once half of it is gone,
  /// so that each byte is moved once at most.
  private mutating func compact() {
    if isEmpty {
      origin += bytes.count
      bytes.removeAll(keepingCapacity: isLent)
      ends.removeAll(keepingCapacity: isLent)
    } else if sent > bytes.count / 2 {
      origin += sent
      bytes.removeFirst(sent)
      ends.removeFirst(firstEnd)
    } else {
      return
    }
    sent = 0
    firstEnd = 0
  }
}
