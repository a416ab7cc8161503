/// The methods that the contract knows, and whatever else is sent.
package enum Method: Hashable, Sendable {
  case get
  case post
  case other(String)

  init(_ text: String) {
    switch text {
    case "GET": self = .get
    case "POST": self = .post
    default: self = .other(text)
    }
  }

  package var text: String {
    switch self {
    case .get: "GET"
    case .post: "POST"
    case .other(let text): text
    }
  }
}

/// One whole answer, as it would be sent by a server without faults.
package struct Answer: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package var name: String
    package var value: String
  }

  package var status: Int
  package var fields: [Field]
  package var body: [UInt8]

  package init(_ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = []) {
    self.status = status
    self.fields = fields.map { Field(name: $0.0, value: $0.1) }
    self.body = body
  }
}

/// What the upstream does with one request: how it is answered, what is waited for, and how the
/// bytes go out. Without a script it is ``normal``. Steps are built up from left to right:
/// `.respond(503).held("a").truncated(afterBytes: 3)`.
package struct Step: Sendable {
  enum Work: Sendable {
    /// What the service does by itself: it changes tokens and ratings.
    case normal
    case fixed(Answer)
    /// Nothing is done.
    case none
  }

  enum Wait: Sendable, Equatable {
    case hold(String)
    case delay(Duration)
  }

  enum Delivery: Sendable {
    case whole
    case drop
    case reset
    case raw([UInt8])
    case stall(afterBytes: Int, until: String)
    case truncate(afterBytes: Int)
    case cutChunks(afterBytes: Int)
    case generated(BodyPattern, byteCount: Int, chunked: Bool)
  }

  var work: Work
  var waits: [Wait] = []
  /// The service does its part only after the waits.
  var worksLate = false
  var delivery: Delivery = .whole

  /// What the service does by itself.
  package static let normal = Step(work: .normal)

  /// A fixed answer; the service does nothing of its own.
  package static func respond(
    status: Int, headers: [(String, String)] = [], body: String = ""
  ) -> Step {
    Step(work: .fixed(Answer(status, headers, body: Array(body.utf8))))
  }

  /// The same, with a body that is no text.
  package static func respond(
    status: Int, headers: [(String, String)] = [], bytes: [UInt8]
  ) -> Step {
    Step(work: .fixed(Answer(status, headers, body: bytes)))
  }

  /// The same, of `application/json`.
  package static func json(_ body: String, status: Int = 200) -> Step {
    .respond(status: status, headers: [("Content-Type", "application/json")], body: body)
  }

  /// The normal answer, made when the request arrives, sent when ``DemoUpstream/release(_:)`` says.
  package static func hold(_ name: String) -> Step { normal.held(name) }

  /// The normal answer, made when the request arrives, sent after a time.
  package static func delay(_ span: Duration) -> Step { normal.delayed(by: span) }

  /// The connection is closed with no bytes, nothing is done: the request might as well not have
  /// arrived.
  package static let drop = Step(work: .none, delivery: .drop)

  /// As ``drop``, with a reset (RST) in place of an orderly end.
  package static let reset = Step(work: .none, delivery: .reset)

  /// The service does its part, then the connection is closed with no bytes: a token was spent,
  /// and the client cannot know.
  package static let loseAnswer = Step(work: .normal, delivery: .drop)

  /// These bytes, whatever they are, then the connection's end.
  package static func raw(_ text: String) -> Step {
    Step(work: .none, delivery: .raw(Array(text.utf8)))
  }

  /// A 200 with that many bytes of text, made while they are sent; `chunked` leaves the length out.
  package static func stream(
    byteCount: Int, chunked: Bool = false, headers: [(String, String)] = []
  ) -> Step {
    Step(
      work: .fixed(Answer(200, headers)),
      delivery: .generated(.text, byteCount: byteCount, chunked: chunked))
  }

  /// A 200 with `Content-Encoding: gzip` whose body unpacks to about that many zero bytes, 159
  /// times what is sent. Its last eight bytes (check sum, length) are not right: whoever gets
  /// there has read too far.
  package static func gzipBomb(unpacked: Int) -> Step {
    Step(
      work: .fixed(
        Answer(200, [("Content-Type", "application/json"), ("Content-Encoding", "gzip")])),
      delivery: .generated(
        .gzip, byteCount: GzipBomb.byteCount(unpacked: unpacked), chunked: false))
  }

  /// The answer is made now and sent when the hold is released.
  package func held(_ name: String) -> Step { adding(.hold(name)) }

  /// The answer is sent after a time.
  package func delayed(by span: Duration) -> Step { adding(.delay(span)) }

  /// The service does its part after the waits, not at the request's arrival.
  package var workingAfterwards: Step {
    var step = self
    step.worksLate = true
    return step
  }

  /// Head and that many bytes of the body, then silence until `name` is released.
  package func stalled(afterBytes count: Int, until name: String = "stall") -> Step {
    delivering(.stall(afterBytes: count, until: name))
  }

  /// A `Content-Length` of the whole, then fewer bytes and the connection's end.
  package func truncated(afterBytes count: Int) -> Step {
    delivering(.truncate(afterBytes: count))
  }

  /// Chunks without a last one, then the connection's end.
  package func chunkedCut(afterBytes count: Int) -> Step {
    delivering(.cutChunks(afterBytes: count))
  }

  /// The answer is made (and what it does, done), then the connection is closed with no bytes.
  package var lost: Step { delivering(.drop) }

  /// Whether the answer goes out whole and at once.
  var isPlain: Bool { if case .whole = delivery { waits.isEmpty } else { false } }

  /// This step for so many requests.
  package func times(_ count: Int) -> [Step] { Array(repeating: self, count: count) }

  private func adding(_ wait: Wait) -> Step {
    var step = self
    step.waits.append(wait)
    return step
  }

  private func delivering(_ delivery: Delivery) -> Step {
    var step = self
    step.delivery = delivery
    return step
  }
}
