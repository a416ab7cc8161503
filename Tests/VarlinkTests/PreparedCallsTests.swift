import Platform
import TestSupport
import Testing
import Varlink

/// Calls whose text is known already.
@Suite(.timeLimit(.minutes(1)))
struct PreparedCallsTests {
  /// What was prepared, and how calls were answered.
  private struct Record: Sendable {
    var prepared: [String] = []
    var known = 0
    var new = 0
  }

  private static func machine(of texts: String...) -> ConnectionMachine {
    var machine = ConnectionMachine(limits: Limits())
    for text in texts { machine.receive(Array(text.utf8) + [0]) }
    return machine
  }

  @Test func `equal texts are taken apart once, others of their length again`() throws {
    let record = Locked(Record())
    var calls = PreparedCalls { call in
      record.withLock { $0.prepared.append(call.method) }
      return { _ in .now(.success([])) }
    }
    var machine = Self.machine(
      of: #"{"method":"a.A"}"#, #"{"method":"a.A"}"#, #"{"method":"a.B"}"#, #"{"method":"a.A"}"#)
    var seen: [PreparedCall] = []
    while case .answer(_, let call) = machine.next(&calls) { seen.append(call) }
    try #require(seen.count == 4)
    #expect(seen[0] == seen[1])
    #expect(seen[1] != seen[2])
    #expect(record.withLock { $0.prepared } == ["a.A", "a.B", "a.A"])
  }

  @Test(arguments: [
    #"{"method":"a.A","upgrade":true}"#,
    #"{"method":"a.A","parameters":{"long":"\#(String(repeating: "x", count: 600))"}}"#,
  ])
  func `what must be seen each time is not remembered`(text: String) {
    let record = Locked(Record())
    var calls = PreparedCalls { call in
      record.withLock { $0.prepared.append(call.method) }
      return { _ in .now(.success([])) }
    }
    var machine = Self.machine(of: text, text)
    for _ in 0..<2 {
      if case .answer = machine.next(&calls) { Issue.record("it was remembered") }
    }
    #expect(record.withLock { $0.prepared.isEmpty })
  }

  @Test func `a text is refused alike, whatever was remembered`() {
    var calls = PreparedCalls { _ in { _ in .now(.success([])) } }
    var machine = Self.machine(of: #"{"method":"a.A"}"#, #"{"method":"a.A"]"#)
    guard case .answer = machine.next(&calls), case .violation = machine.next(&calls) else {
      Issue.record("the second text is of the same length and no JSON")
      return
    }
  }

  @Test func `replies keep the order of the calls, prepared or not`() async throws {
    let gate = Gate()
    let record = Locked(Record())
    let fixture = try await ServerFixture(
      prepare: { call in
        guard call.method.hasSuffix(".Now") else { return nil }
        return { _ in
          record.withLock { $0.known += 1 }
          return .now(success(#"{"known":true}"#))
        }
      },
      { _, _ in
        .later {
          await gate.wait()
          return success(#"{"late":true}"#)
        }
      })
    let client = try fixture.connect()
    client.call("org.example.Test.Now")
    client.call("org.example.Test.Later")
    client.call("org.example.Test.Now")
    client.call("org.example.Test.Now")
    #expect(client.reply()?.contains("known") == true)
    await gate.arrived(1)
    gate.open()
    #expect(client.reply()?.contains("late") == true)
    #expect(client.reply()?.contains("known") == true)
    #expect(client.reply()?.contains("known") == true)
    #expect(record.withLock { $0.known } == 3)
    await fixture.close()
  }

  @Test func `what a preparation cannot answer goes the usual way, and is prepared anew`()
    async throws
  {
    let record = Locked(Record())
    let fixture = try await ServerFixture(
      prepare: { call in
        let number = record.withLock { record in
          record.prepared.append(call.method)
          return record.prepared.count
        }
        // The first preparation is good for one call.
        return { _ in
          let isGood = record.withLock { record in
            defer { record.known += 1 }
            return number > 1 || record.known == 0
          }
          return isGood ? .now(success(#"{"known":true}"#)) : nil
        }
      },
      { _, _ in
        record.withLock { $0.new += 1 }
        return .now(success(#"{"new":true}"#))
      })
    let client = try fixture.connect()
    let expected = ["known", "new", "known"]
    for word in expected {
      client.call("org.example.Test.Now")
      #expect(client.reply()?.contains(word) == true)
    }
    #expect(record.withLock { $0.prepared.count } == 2)
    #expect(record.withLock { $0.new } == 1)
    await fixture.close()
  }
}
