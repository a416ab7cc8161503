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
}
