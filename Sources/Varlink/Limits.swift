/// Every number of this layer, with its reason and what a client sees at the bound. The first six
/// can be configured; the others follow from how the server works.
package struct Limits: Equatable, Sendable {
  /// A call's bytes without its NUL. Calls carry a few short fields; the longest, an imported
  /// token pair, stays far below. Past it the connection is closed. Replies have no bound.
  package var maxMessageBytes = 64 * 1024

  /// Open connections in all; each costs a descriptor and, idle, about a kilobyte. What the
  /// process may open (RLIMIT_NOFILE, less ``reservedDescriptors``) lowers it. Past it a new
  /// connection is accepted and closed at once, so that its client need not wait for nothing.
  package var maxConnections = 16_384

  /// Open connections of one user: a quarter, so that one user alone cannot shut out the others.
  package var maxConnectionsPerUser = 4_096

  /// Calls of one connection that were begun and not answered. Each may hold a task; past it the
  /// connection is not read from until one is answered.
  package var maxPendingCalls = 1_024

  /// Bytes that wait behind the reply being sent. Past it the connection is not read from, and a
  /// stream's next reply is refused as too slow. The reply being sent does not count: one reply
  /// may be of any size.
  package var maxUnreadBytes = 1024 * 1024

  /// How long a connection may stay without a call under way and without a byte moving; zero is
  /// for ever. An idle connection costs next to nothing, so none is closed unless asked for.
  package var idleTimeout = Duration.zero

  /// How long one message may take from its first byte to its NUL, while the connection is read
  /// from. The longest takes no time on a socket of the same host; who needs longer holds memory
  /// for nothing. Past it the connection is closed.
  package var messageTimeout = Duration.seconds(30)

  /// Calls and streams of one user that have a task and no last reply: four for each connection
  /// that it may have. A task costs one to three kilobytes, so that one user comes to 50 MB at
  /// most. Past it the connection that began one more is closed.
  package var maxTasksPerUser = 16_384

  /// Bytes that all connections of one user hold: parts of messages, and replies that are not yet
  /// read. It holds sixty clients at ``maxUnreadBytes``. Past it the user's connection that holds
  /// most is closed: who reads keeps little.
  package var maxBufferedBytesPerUser = 64 * 1024 * 1024

  /// How deep a call's JSON may nest. The deepest call of any interface here nests three levels;
  /// the parser is recursive, so the bound is what keeps its stack small.
  package var maxDepth = 32

  /// Bytes taken from one connection at one readiness, so that a flooding client gets a small
  /// turn and then the others have theirs. Holds a burst of 16 usual calls many times over.
  package var readBytesPerTurn = 16 * 1024

  /// Calls of one connection that are begun in one turn, for the same reason: the shortest call
  /// is about 20 bytes, so a turn's bytes may hold 800 of them.
  package var callsPerTurn = 256

  /// Connections accepted at one readiness of the listening socket.
  package var acceptsPerTurn = 64

  /// Descriptors that connections never take, beside those that the process has open when it begins
  /// to serve: the upstream's, the store's for a moment, a library's. Where there are few, half of
  /// what there is.
  package var reservedDescriptors = 64

  /// How long the listening socket rests when no descriptor is left for even one refusal.
  package var acceptPause = Duration.seconds(1)

  /// How long the memory of clients that have left is kept for others like them.
  package var memoryPause = Duration.seconds(1)

  /// At a stop: how long calls under way may still take before they are cancelled.
  package var stopGrace = Duration.milliseconds(1_000)

  /// At a stop: how long after that their last replies may still take to be read.
  package var stopFlush = Duration.milliseconds(500)

  /// How often at most the same kind of refusal is reported.
  package var noticeInterval = Duration.seconds(5)

  package init() {}

  /// What ``maxConnections`` comes to in a process that may open `descriptors` files and has `inUse`
  /// of them open for something else.
  package func connections(descriptors: Int, inUse: Int) -> Int {
    let free = max(0, descriptors - inUse)
    return max(1, min(maxConnections, free - min(reservedDescriptors, free / 2)))
  }
}
