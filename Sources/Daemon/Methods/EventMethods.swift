import BrewlogAPI
import Execution
import JSON
import Platform
import Session
import Varlink

/// What happened: `Watch`, `History` and `Explain` of `org.brewlog.Session`.
extension MethodHandler {
  func watch(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    let sequence = try parameters.optionalInt("afterSequence", in: 0...Int.max)
    try parameters.finish()
    return .stream { stream in
      let state = self.presentState()
      let end = await self.events.watch(after: sequence.map { Int64($0) }, state: state) { text in
        do throws(StreamFailure) {
          try stream.send(text)
          return true
        } catch {
          return false
        }
      }
      switch end {
      case .tooSlow(let last):
        return .failure(APIError.tooSlow(lastSequence: Int(last)).varlinkError)
      case .stopped(let event): return self.encode(WatchReply(event: Self.event(event)))
      // Nobody reads it.
      case .left: return .failure(APIError.tooSlow(lastSequence: 0).varlinkError)
      }
    }
  }

  /// The session as an event of its own: what a watcher that begins now has missed.
  private func presentState() -> EventRecord {
    let session = coordinator.assumeIsolated { $0.snapshot() }
    let kind: EventKind
    let detail: String?
    switch session.phase {
    case .signedIn: (kind, detail) = (.signedIn, session.facts?.account)
    case .signedOut(let reason): (kind, detail) = (.signedOut, reason)
    case .suspended(let reason): (kind, detail) = (.suspended, reason)
    }
    return EventRecord(
      sequence: 0, at: loop.wallTime, kind: kind.name, generation: session.generation,
      detail: detail)
  }

  func history(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    let limit = try parameters.optionalInt("limit", in: 1...1000) ?? 100
    try parameters.finish()
    let events = events.assumeIsolated { $0.newest(limit: limit) }
    return .now(encode(HistoryReply(events: events.map(Self.event))))
  }

  func explain(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    try parameters.finish()
    let (session, undestroyed) = coordinator.assumeIsolated { ($0.snapshot(), $0.undestroyed) }
    let explanation = Explanation(session, undestroyed: undestroyed, now: loop.wallTime)
    let evidence = events.assumeIsolated { $0.newest(limit: 5) }
    return .now(
      encode(
        ExplainReply(
          sentence: explanation.sentence, nextStep: explanation.nextStep,
          evidence: evidence.map(Self.event))))
  }

  static func event(_ event: EventRecord) -> Event {
    Event(
      sequence: Int(event.sequence), at: Timestamps.text(event.at),
      kind: EventKind(name: event.kind), generation: SnapshotMapping.number(event.generation),
      detail: event.detail, actorUid: event.actorUID.map { Int($0) },
      httpStatus: event.httpStatus)
  }
}
