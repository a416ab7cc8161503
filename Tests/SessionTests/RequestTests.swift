import Execution
import Requests
import Session
import TestSupport
import Testing
import Tips

@Suite(.timeLimit(.minutes(1)))
struct RequestTests {
  // MARK: I3

  @Test
  func `a rejected request costs one refresh and one retry, with the new token`() throws {
    let bench = try Bench.started()
    bench.transport.accept("access-1")
    let caller = bench.getting()
    bench.ground.run()
    _ = try caller.value()
    #expect(bench.transport.sent.map(\.token) == ["access-0", "access-1"])
    #expect(bench.endpoint.sent.count == 1)
  }

  @Test
  func `a second rejection goes to the caller`() throws {
    let bench = try Bench.started()
    bench.transport.accept("none")
    let caller = bench.getting()
    bench.ground.run()
    guard case .refused(_, 401) = caller.error(RequestError.self) else {
      Issue.record("the second 401 was not handed on")
      return
    }
    #expect(bench.transport.sent.count == 2)
    #expect(bench.endpoint.sent.count == 1)
  }

  @Test
  func `a refresh before the request is its one refresh`() throws {
    let bench = try Bench.started(signedIn: false)
    // Without an access token the request has to refresh first.
    try bench.signIn(nil, "refresh-0")
    bench.transport.accept("none")
    let caller = bench.getting()
    bench.ground.run()
    guard case .refused(_, 401) = caller.error(RequestError.self) else {
      Issue.record("not refused")
      return
    }
    #expect(bench.endpoint.sent.count == 1)
    #expect(bench.transport.sent.count == 1)
  }

  @Test
  func `retries count over both tries together`() throws {
    let bench = try Bench.started()
    for status in [503, 401, 503, 503, 503, 503] { bench.transport.script(status: status) }
    let caller = bench.getting()
    bench.ground.advance(by: .seconds(10))
    guard case .unavailable(_, 503, _) = caller.error(RequestError.self) else {
      Issue.record("not unavailable")
      return
    }
    // The first, its retry after 503, the one after the refresh, and its retry.
    #expect(bench.transport.sent.count == 4)
    #expect(bench.endpoint.sent.count == 1)
  }

  @Test
  func `a rating is repeated with the same key and body, byte for byte`() throws {
    let bench = try Bench.started()
    bench.transport.script(.failure(TransportError(.lost, reason: "lost")))
    bench.transport.script(status: 401)
    bench.transport.script(status: 204)
    let caller = bench.call { [tips = bench.tips] in
      try await tips.rate("t1", 5, wait: .seconds(30))
    }
    bench.ground.advance(by: .seconds(5))
    try caller.value()
    let sent = bench.transport.sent
    #expect(sent.count == 3)
    #expect(sent.allSatisfy { $0.method == .post && $0.body == Array("{\"rating\":5}".utf8) })
    #expect(Set(sent.map(\.fields)).count == 1)
    #expect(sent[0].fields.contains { $0.name == "Idempotency-Key" && !$0.value.isEmpty })
  }

  @Test
  func `what must not be repeated is not, but after a failure before it was sent`() throws {
    for (answer, sent) in [
      (ScriptedTransport.Answer.response(HTTPResponse(status: 401)), 1),
      (.response(HTTPResponse(status: 503)), 1),
      (.failure(TransportError(.lost, reason: "lost")), 1),
      (.failure(TransportError(.unreachable, reason: "refused")), 2),
    ] {
      let bench = try Bench.started()
      bench.transport.script(answer)
      _ = bench.getting(repetition: .never)
      bench.ground.advance(by: .seconds(5))
      #expect(bench.transport.sent.count == sent)
    }
  }

  // MARK: Deduplication

  @Test
  func `equal requests share an attempt, others do not`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    for _ in 0..<3 { bench.transport.script(status: 200, gate: gate) }
    let callers = [
      bench.getting("/tips/1"), bench.getting("/tips/1"), bench.getting("/tips/2"),
      bench.getting("/tips/1", fields: [HTTPField("If-None-Match", "\"x\"")]),
    ]
    bench.ground.run()
    #expect(bench.transport.sent.count == 3)
    gate.open()
    bench.ground.run()
    for caller in callers { _ = try caller.value() }
  }

  @Test
  func `posts are never merged`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    for _ in 0..<2 { bench.transport.script(status: 204, gate: gate) }
    let endpoint = Endpoint<Bool>(
      .post, "/tips/1/rating", repetition: .idempotent, interpret: { _ in true })
    let deadline = bench.ground.now.advanced(by: .seconds(30))
    let callers = (0..<2).map { _ in
      bench.call { [requester = bench.requester] in
        try await requester.send(endpoint, by: deadline).value
      }
    }
    bench.ground.run()
    #expect(bench.transport.sent.count == 2)
    gate.open()
    bench.ground.run()
    for caller in callers { #expect(try caller.value()) }
  }

  @Test
  func `a result of another type is an error for that caller alone`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.transport.script(status: 200, body: "text", gate: gate)
    let first = bench.getting("/tips/1")
    bench.ground.run()
    let deadline = bench.ground.now.advanced(by: .seconds(30))
    let number = Endpoint<Int>(.get, "/tips/1", repetition: .idempotent, interpret: { $0.status })
    let second = bench.call { [requester = bench.requester] in
      try await requester.send(number, by: deadline).value
    }
    bench.ground.run()
    gate.open()
    bench.ground.run()
    #expect(second.error(RequestError.self) == .otherType)
    #expect(try first.value() == "text")
  }

  @Test
  func `a late joiner of a finished attempt starts a new one`() throws {
    let bench = try Bench.started()
    let first = bench.getting()
    bench.ground.run()
    let second = bench.getting()
    bench.ground.run()
    _ = try (first.value(), second.value())
    #expect(bench.transport.sent.count == 2)
  }

  @Test
  func `a request of the next session does not join one of the last`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.transport.script(nil, latch: latch)
    let old = bench.getting()
    bench.ground.run()
    try bench.signIn("access-b", "refresh-b")
    let new = bench.getting()
    bench.ground.run()
    #expect(old.isSignedOut)
    #expect(try new.value().contains("for-access-b"))
    latch.open()
    bench.ground.run()
  }

  @Test func `what is sent once whatever comes back is not shared`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    for _ in 0..<2 { bench.transport.script(status: 200, gate: gate) }
    let callers = (0..<2).map { _ in bench.getting(repetition: .never) }
    bench.ground.run()
    #expect(bench.transport.sent.count == 2)
    gate.open()
    bench.ground.run()
    for caller in callers { _ = try caller.value() }
  }

  // MARK: I2

  @Test func `a boundary aborts what was sent, before the store has followed`() throws {
    let bench = try Bench.started()
    let gate = Gate()
    bench.transport.script(nil, gate: gate)
    let caller = bench.getting()
    bench.ground.run()
    let hold = bench.store.hold(.before, .destroy)
    let logout = bench.loggingOut()
    bench.ground.run()
    #expect(hold.isReached)
    #expect(bench.transport.aborted == 1)
    #expect(!caller.isAnswered)
    hold.open()
    bench.ground.run()
    _ = try logout.value()
    #expect(caller.isSignedOut)
  }

  @Test func `an answer that comes behind a boundary waits for it to be published`() throws {
    let bench = try Bench.started()
    let latch = Latch()
    bench.transport.script(nil, latch: latch)
    let caller = bench.getting()
    bench.ground.run()
    let hold = bench.store.hold(.before, .destroy)
    let logout = bench.loggingOut()
    bench.ground.run()
    latch.open()
    bench.ground.run()
    #expect(!caller.isAnswered)
    hold.open()
    bench.ground.run()
    _ = try logout.value()
    #expect(caller.isSignedOut)
  }

  // MARK: The circuit

  @Test func `a wait that was asked for outlives a reload, but not a change of upstream`() throws {
    let bench = try Bench.started(retries: RetryPolicy(maxRetries: 0))
    bench.transport.script(status: 503, HTTPField("Retry-After", "100"))
    let first = bench.getting()
    bench.ground.run()
    #expect(first.error(RequestError.self) != nil)
    for (base, sent) in [
      ("https://api.example.test", 1), ("https://other.example.test", 2),
    ] {
      let reload = bench.call { [requester = bench.requester] in
        await requester.adopt(
          base: base, policy: RetryPolicy(maxRetries: 0), requestTimeout: .seconds(30))
      }
      bench.ground.run()
      try reload.value()
      let next = bench.getting()
      bench.ground.run()
      #expect(bench.transport.sent.count == sent)
      if case .unavailable(_, _, let wait) = next.error(RequestError.self) {
        #expect(wait == .seconds(100) && sent == 1)
      } else {
        #expect(sent == 2)
      }
    }
  }
}
