import BrewlogAPI
import Execution

/// The life of the session, read out of its events: from when to when there was a session, how long
/// each access token was used, what failed and when the upstream was away.
struct SessionChronicle: Equatable {
  /// Milliseconds since 1970; `end` nil: it goes on.
  struct Span: Equatable {
    var start: Int64
    var end: Int64?
    /// What began it and what ended it, for people.
    var note: String
    /// False where the events begin in the middle of it.
    var hasBeginning = true
  }

  struct Moment: Equatable {
    var at: Int64
    var note: String
  }

  /// How long one exchange with the upstream took.
  struct Latency: Equatable {
    var at: Int64
    var milliseconds: Int64
    var failed: Bool
  }

  private(set) var sessions: [Span] = []
  private(set) var tokens: [Span] = []
  private(set) var outages: [Span] = []
  private(set) var degradations: [Span] = []
  private(set) var rotations: [Moment] = []
  private(set) var failures: [Moment] = []
  private(set) var lateResults: [Moment] = []
  private(set) var gaps: [Moment] = []
  private(set) var refreshLatencies: [Latency] = []
  private(set) var tipLatencies: [Latency] = []
  private(set) var start: Int64
  let end: Int64

  private var refreshStart: Int64?
  private var tipStart: Int64?

  /// `now` ends what goes on, in a picture.
  init(_ events: [Event], now: Int64) {
    let dated = events.compactMap { event in
      Timestamps.moment(event.at).map { (at: $0.milliseconds, event: event) }
    }.sorted { ($0.event.sequence, $0.at) < ($1.event.sequence, $1.at) }
    start = dated.first?.at ?? now
    end = max(now, dated.map(\.at).max() ?? now)
    for (at, event) in dated {
      start = min(start, at)
      take(event, at)
    }
  }

  private mutating func take(_ event: Event, _ at: Int64) {
    let detail = event.detail ?? ""
    switch event.kind {
    case .signedIn, .imported:
      Self.close(&sessions, at)
      Self.close(&tokens, at)
      sessions.append(Span(start: at, note: detail.isEmpty ? "signed in" : detail))
      tokens.append(Span(start: at, note: "from the sign-in"))
    case .refreshStarted: refreshStart = at
    case .refreshSucceeded:
      rotations.append(Moment(at: at, note: detail))
      measure(\.refreshStart, at, failed: false, into: \.refreshLatencies)
      assumeSession()
      Self.close(&tokens, at)
      tokens.append(Span(start: at, note: "rotation \(rotations.count)"))
    case .refreshFailed:
      failures.append(Moment(at: at, note: detail))
      measure(\.refreshStart, at, failed: true, into: \.refreshLatencies)
      assumeSession()
    case .signedOut:
      assumeSession()
      refreshStart = nil
      if let last = sessions.indices.last, sessions[last].end == nil, !detail.isEmpty {
        sessions[last].note += "; ended: \(detail)"
      }
      Self.close(&sessions, at)
      Self.close(&tokens, at)
    case .lateResultRejected: lateResults.append(Moment(at: at, note: detail))
    case .upstreamAway: Self.open(&outages, at, detail)
    case .upstreamBack: Self.close(&outages, at)
    case .storeDegraded: Self.open(&degradations, at, detail)
    case .storeHealed: Self.close(&degradations, at)
    case .tipLoading: tipStart = at
    case .tipChanged: measure(\.tipStart, at, failed: false, into: \.tipLatencies)
    case .tipFailed: measure(\.tipStart, at, failed: true, into: \.tipLatencies)
    case .gap: gaps.append(Moment(at: at, note: detail))
    case .suspended, .resumed, .loginPending, .loginFailed, .revocationDone, .revocationFailed,
      .stopping,
      .unknown:
      break
    }
  }

  /// The events may begin in the middle of a session.
  private mutating func assumeSession() {
    guard sessions.isEmpty else { return }
    sessions = [Span(start: start, note: "signed in earlier", hasBeginning: false)]
    tokens = [Span(start: start, note: "from before", hasBeginning: false)]
  }

  private mutating func measure(
    _ begin: WritableKeyPath<SessionChronicle, Int64?>, _ at: Int64, failed: Bool,
    into list: WritableKeyPath<SessionChronicle, [Latency]>
  ) {
    guard let begun = self[keyPath: begin] else { return }
    self[keyPath: begin] = nil
    self[keyPath: list].append(Latency(at: at, milliseconds: max(0, at - begun), failed: failed))
  }

  private static func open(_ spans: inout [Span], _ at: Int64, _ note: String) {
    if spans.last.map({ $0.end == nil }) != true { spans.append(Span(start: at, note: note)) }
  }

  private static func close(_ spans: inout [Span], _ at: Int64) {
    guard let last = spans.indices.last, spans[last].end == nil else { return }
    spans[last].end = max(at, spans[last].start)
  }

  /// Only what touches the last so many milliseconds.
  func since(_ milliseconds: Int64) -> SessionChronicle {
    var copy = self
    copy.start = max(start, end - milliseconds)
    return copy
  }

  // MARK: In words

  /// One sentence for each thing worth saying.
  var sentences: [String] {
    var said: [String] = []
    if rotations.isEmpty {
      said.append("The token was never refreshed.")
    } else {
      let whole = tokens.filter { $0.end != nil && $0.hasBeginning }
      let lives = whole.compactMap { span in span.end.map { $0 - span.start } }.sorted()
      var text = Words.count(rotations.count, "refresh").replacing("refreshs", with: "refreshes")
      if let shortest = lives.first, let longest = lives.last, lives.count > 1 {
        let average = lives.reduce(0, +) / Int64(lives.count)
        text +=
          "; a token was used for \(Self.span(average)) on average "
          + "(\(Self.span(shortest)) to \(Self.span(longest)))"
      }
      said.append(text + ".")
    }
    if !failures.isEmpty {
      let last = failures.last.map { $0.note.isEmpty ? "" : ": " + $0.note } ?? ""
      said.append(
        Words.count(failures.count, "refresh").replacing("refreshs", with: "refreshes")
          + " failed; the last\(last).")
    }
    if !outages.isEmpty {
      let total = outages.reduce(0) { $0 + (($1.end ?? end) - $1.start) }
      let goesOn = outages.last?.end == nil ? ", and is now" : ""
      said.append(
        "The upstream was away \(Words.count(outages.count, "time")), \(Self.span(total)) in all"
          + "\(goesOn).")
    }
    if !lateResults.isEmpty {
      said.append(
        Words.count(lateResults.count, "late answer") + " of an earlier session kept out.")
    }
    if !degradations.isEmpty {
      said.append("The store took no writes \(Words.count(degradations.count, "time")).")
    }
    if !gaps.isEmpty { said.append("Some events are missing.") }
    return said
  }

  private static func span(_ milliseconds: Int64) -> String {
    Words.span(Int(clamping: milliseconds / 1000))
  }
}
