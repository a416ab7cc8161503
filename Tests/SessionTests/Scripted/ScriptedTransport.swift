import Execution
import Platform
import Requests
import Secrets
import Session
import Simulation
import TestSupport

/// An API that answers by a script, and knows which tokens it accepts. Its log names the tokens
/// that requests carried.
final class ScriptedTransport: Transport {
  /// One request as it went out.
  struct Sent: Equatable, Sendable {
    var method: HTTPMethod
    var url: String
    var fields: [HTTPField]
    var body: [UInt8]?
    var token: String?

    var path: String { String(url.dropFirst("https://api.example.test".count)) }
  }

  enum Answer: Sendable {
    case response(HTTPResponse)
    case failure(TransportError)
  }

  private struct Step {
    var answer: Answer?
    var gate: Gate?
    var latch: Latch?
  }

  private struct State {
    var steps: [Step] = []
    var sent: [Sent] = []
    var accepted: Set<String> = []
    var aborted = 0
  }

  private let state = Locked(State())
  private let note: @Sendable (String) -> Void

  init(note: @escaping @Sendable (String) -> Void) {
    self.note = note
  }

  var sent: [Sent] { state.withLock { $0.sent } }

  /// How many requests were given up while they were held at a gate.
  var aborted: Int { state.withLock { $0.aborted } }

  /// Without a script a request is answered by its token: 401 unless it is one of these, where any
  /// are named; else a tip.
  func accept(_ tokens: String...) {
    state.withLock { $0.accepted = Set(tokens) }
  }

  /// What the next requests are answered; nil: by their token.
  func script(_ answer: Answer?, gate: Gate? = nil, latch: Latch? = nil) {
    state.withLock { $0.steps.append(Step(answer: answer, gate: gate, latch: latch)) }
  }

  func script(status: Int, _ fields: HTTPField..., body: String = "", gate: Gate? = nil) {
    script(
      .response(HTTPResponse(status: status, fields: fields, body: Array(body.utf8))), gate: gate)
  }

  func send(
    _ request: HTTPRequest, bearer: consuming Secret?, deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    let token = Dummy.text(bearer)
    let sent = Sent(
      method: request.method, url: request.url, fields: request.fields, body: request.body,
      token: token)
    let step: Step? = state.withLock { state in
      state.sent.append(sent)
      return state.steps.isEmpty ? nil : state.steps.removeFirst()
    }
    note("request \(token ?? "none")")
    if let latch = step?.latch { await latch.wait() }
    if let gate = step?.gate {
      await gate.wait()
      if Task.isCancelled {
        state.withLock { $0.aborted += 1 }
        throw TransportError(.cancelled, reason: "cancelled")
      }
    }
    switch step?.answer {
    case .response(let response): return response
    case .failure(let error): throw error
    case nil:
      let accepted = state.withLock { $0.accepted }
      guard accepted.isEmpty || accepted.contains(token ?? "") else {
        return HTTPResponse(status: 401)
      }
      return HTTPResponse(status: 200, body: Array(Self.tip("for-\(token ?? "nobody")").utf8))
    }
  }

  static func tip(_ title: String) -> String {
    "{\"id\":\"t1\",\"title\":\"\(title)\",\"body\":\"Rinse the filter.\"}"
  }
}
