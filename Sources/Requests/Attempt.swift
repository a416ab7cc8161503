import Execution
import Session

/// What makes two requests the same: generation, method, URL, and the header fields that the answer
/// depends on, in a fixed order.
struct RequestKey: Hashable {
  let generation: Generation
  let method: HTTPMethod
  let url: String
  let fields: [HTTPField]

  /// Nil for what must not be shared: all but GETs.
  init?(_ request: HTTPRequest, generation: Generation, repetition: Repetition) {
    guard request.method == .get, repetition == .idempotent else { return nil }
    self.generation = generation
    method = request.method
    url = request.url
    fields = request.fields
      .map { HTTPField($0.name.lowercased(), $0.value) }
      .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
  }
}

/// An answer of any type, with the session that it was fetched for.
struct Answer: Sendable {
  let value: any Sendable
  let session: SessionID
}

/// One attempt and those who wait for it.
struct Attempt {
  struct Waiter {
    let timer: TimerID
    let continuation: CheckedContinuation<Result<Answer, RequestError>, Never>
  }

  let generation: Generation
  let key: RequestKey?
  let task: Task<Void, Never>
  /// The latest that anybody who joined would wait until; retries are planned by it.
  private(set) var deadline: Instant
  /// Its generation has moved: it may neither answer nor be joined; the boundary answers its waiters.
  var isOutdated = false
  var waiters: [UInt64: Waiter] = [:]

  init(
    generation: Generation, key: RequestKey?, deadline: Instant, task: Task<Void, Never>
  ) {
    self.generation = generation
    self.deadline = deadline
    self.key = key
    self.task = task
  }

  mutating func join(
    _ id: UInt64, _ deadline: Instant, _ timer: TimerID,
    _ continuation: CheckedContinuation<Result<Answer, RequestError>, Never>
  ) {
    self.deadline = max(self.deadline, deadline)
    waiters[id] = Waiter(timer: timer, continuation: continuation)
  }
}

/// Callers that have joined an attempt and do not wait for it yet: from one function of an actor to
/// the next, a task that does not prefer the ground is enqueued anew, and the attempt may end
/// meanwhile.
struct Joiners {
  var count = 0
  /// What the attempt has come to, if it has.
  var outcome: Result<Answer, RequestError>?
}
