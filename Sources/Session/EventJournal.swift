package import Execution

/// One event as it is kept and shown. `sequence` counts the events of an installation; it never
/// goes back, restarts included. Never carries a token.
package struct EventRecord: Hashable, Sendable {
  package var sequence: Int64
  package var at: WallTime
  package var kind: String
  package var generation: Generation
  package var detail: String?
  package var actorUID: UInt32?
  package var httpStatus: Int?

  package init(
    sequence: Int64, at: WallTime, kind: String, generation: Generation, detail: String? = nil,
    actorUID: UInt32? = nil, httpStatus: Int? = nil
  ) {
    self.sequence = sequence
    self.at = at
    self.kind = kind
    self.generation = generation
    self.detail = detail
    self.actorUID = actorUID
    self.httpStatus = httpStatus
  }
}

/// Where the history is kept: bounded, without secrets, over restarts and logouts. A failure costs
/// history, never a session.
package protocol EventJournal: Sendable {
  /// The highest sequence number that was ever kept; 0 for none.
  func lastSequence() async throws(StoreError) -> Int64

  /// Keeps events, in the order of their numbers; the oldest are dropped past the bound.
  func append(_ events: [EventRecord]) async throws(StoreError)

  /// The newest, newest first.
  func newest(limit: Int) async throws(StoreError) -> [EventRecord]
}
