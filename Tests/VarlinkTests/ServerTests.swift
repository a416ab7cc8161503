import Glibc
import Platform
import TestSupport
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct ServerTests {
  @Test func `replies stay in order while the first call is held`() async throws {
    let gate = Gate()
    let fixture = try await ServerFixture { call, _ in
      if call.method.hasSuffix("Later") {
        return .later {
          await gate.wait()
          return success(#"{"n":1}"#)
        }
      }
      return .now(success(#"{"n":2}"#))
    }
    let client = try fixture.connect()
    client.call("Later")
    client.call("Now")
    client.call("Later")
    await gate.arrived(2)
    let other = try fixture.connect()
    other.call("Now")
    #expect(other.reply() == #"{"parameters":{"n":2}}"#)
    gate.open()
    #expect(client.reply() == #"{"parameters":{"n":1}}"#)
    #expect(client.reply() == #"{"parameters":{"n":2}}"#)
    #expect(client.reply() == #"{"parameters":{"n":1}}"#)
    await fixture.close()
  }

  @Test func `calls begin in the order in which they came`() async throws {
    let log = Locked<[String]>([])
    let fixture = try await ServerFixture { call, _ in
      if call.method.hasSuffix("Now") {
        log.withLock { $0.append("now") }
        return .now(success())
      }
      return .later {
        log.withLock { $0.append("later") }
        return success()
      }
    }
    let client = try fixture.connect()
    client.send(
      "{\"method\":\"org.example.Test.Later\"}\0{\"method\":\"org.example.Test.Now\"}\0"
        + "{\"method\":\"org.example.Test.Later\"}\0")
    for _ in 0..<3 { #expect(client.reply() == #"{"parameters":{}}"#) }
    #expect(log.withLock { $0 } == ["later", "now", "later"])
    await fixture.close()
  }

  @Test func `a handler's task stays on the loop`() async throws {
    let gate = Gate()
    let places = Locked<[Bool]>([])
    let loop = Locked<EventLoop?>(nil)
    @Sendable func note() {
      let isOnLoop = loop.withLock { $0?.isCurrent ?? false }
      places.withLock { $0.append(isOnLoop) }
    }
    let fixture = try await ServerFixture { _, _ in
      note()
      return .later {
        note()
        await gate.wait()
        note()
        return success()
      }
    }
    loop.withLock { $0 = fixture.thread.loop }
    let client = try fixture.connect()
    client.call("Later")
    await gate.arrived(1)
    gate.open()
    #expect(client.reply() == #"{"parameters":{}}"#)
    #expect(places.withLock { $0 } == [true, true, true])
    await fixture.close()
  }

  @Test func `a client that leaves cancels what it waited for`() async throws {
    let gate = Gate()
    let cancelled = Gate()
    let fixture = try await ServerFixture { _, _ in
      .later {
        await gate.wait()
        if Task.isCancelled { await cancelled.wait() }
        return success()
      }
    }
    do {
      let client = try fixture.connect()
      client.call("Later")
      await gate.arrived(1)
    }
    await cancelled.arrived(1)
    await fixture.connections(become: 0)
    await fixture.close()
  }

  @Test func `a client that has ended its sending side and then leaves cancels, too`() async throws
  {
    let gate = Gate()
    let cancelled = Gate()
    let fixture = try await ServerFixture { _, _ in
      .later {
        await gate.wait()
        if Task.isCancelled { await cancelled.wait() }
        return success()
      }
    }
    do {
      let client = try fixture.connect()
      client.call("Later")
      client.endSending()
      await gate.arrived(1)
      // The end of its input has been seen by now: this comes after it in the loop's order.
      let other = try fixture.connect()
      other.call("org.varlink.service.GetInfo")
      #expect(other.reply() != nil)
    }
    await cancelled.arrived(1)
    await fixture.connections(become: 0)
    await fixture.close()
  }

  @Test func `a client that has only ended its sending side is answered`() async throws {
    let gate = Gate()
    let fixture = try await ServerFixture { _, _ in
      .later {
        await gate.wait()
        return success(Task.isCancelled ? #"{"n":0}"# : #"{"n":1}"#)
      }
    }
    let client = try fixture.connect()
    client.call("Later")
    client.call("Later")
    client.endSending()
    await gate.arrived(2)
    let other = try fixture.connect()
    other.call("org.varlink.service.GetInfo")
    #expect(other.reply() != nil)
    gate.open()
    #expect(client.reply() == #"{"parameters":{"n":1}}"#)
    #expect(client.reply() == #"{"parameters":{"n":1}}"#)
    #expect(client.reply() == nil)
    await fixture.close()
  }

  @Test func `a oneway call is not answered and outlives its client`() async throws {
    let gate = Gate()
    let done = Gate()
    let fixture = try await ServerFixture { call, _ in
      guard call.oneway else { return .now(success(#"{"n":2}"#)) }
      return .later {
        await gate.wait()
        if !Task.isCancelled { await done.wait() }
        return success(#"{"n":1}"#)
      }
    }
    do {
      let client = try fixture.connect()
      client.call("Later", #","oneway":true"#)
      client.call("Now")
      #expect(client.reply() == #"{"parameters":{"n":2}}"#)
    }
    await gate.arrived(1)
    gate.open()
    await done.arrived(1)
    done.open()
    await fixture.connections(become: 0)
    await fixture.close()
  }

  @Test func `a oneway call whose client leaves at once is carried out`() async throws {
    let done = Gate()
    let fixture = try await ServerFixture { _, _ in
      .later {
        await done.wait()
        return success()
      }
    }
    do {
      let client = try fixture.connect()
      client.call("Later", #","oneway":true"#)
    }
    await done.arrived(1)
    done.open()
    await fixture.close()
  }

  @Test func `a reply of 1 MiB reaches a client with a tiny buffer whole`() async throws {
    let text = #"{"text":""# + String(repeating: "x", count: 1 << 20) + #""}"#
    let fixture = try await ServerFixture { _, _ in .now(success(text)) }
    let client = try fixture.connect()
    var size: Int32 = 4096
    setsockopt(client.descriptor.rawValue, SOL_SOCKET, SO_RCVBUF, &size, 4)
    client.call("Big")
    client.call("Big")
    client.endSending()
    let whole = #"{"parameters":"# + text + "}\0"
    #expect(client.rest() == Array((whole + whole).utf8))
    await fixture.close()
  }

  @Test(arguments: ["[]\0", "\0", "{}\0", "{\"method\":1}\0", "x\0"])
  func `what is no call closes the connection after the replies before it`(
    text: String
  ) async throws {
    let fixture = try await ServerFixture { _, _ in .now(success()) }
    let client = try fixture.connect()
    client.send("{\"method\":\"org.example.Test.Now\"}\0" + text)
    #expect(client.reply() == #"{"parameters":{}}"#)
    #expect(client.reply() == nil)
    await fixture.connections(become: 0)
    await fixture.close()
  }

  @Test func `a message at the bound is answered and one past it closes`() async throws {
    var limits = Limits()
    limits.maxMessageBytes = 1000
    let fixture = try await ServerFixture(limits: limits) { _, _ in .now(success()) }
    let shell = #"{"method":"org.example.Test.Now","parameters":{"x":""}}"#
    func message(_ count: Int) -> String {
      shell.replacing(
        #""x":"""#,
        with: #""x":""# + String(repeating: "y", count: count - shell.utf8.count) + #"""#)
    }
    let client = try fixture.connect()
    client.send(message(1000) + "\0")
    #expect(client.reply() == #"{"parameters":{}}"#)
    client.send(message(1001))
    #expect(client.reply() == nil)
    let flood = try fixture.connect()
    flood.send([UInt8](repeating: UInt8(ascii: " "), count: 1 << 22))
    #expect(flood.reply() == nil)
    await fixture.connections(become: 0)
    await fixture.close()
  }

  @Test func `a thousand clients that call and leave do no harm`() async throws {
    let fixture = try await ServerFixture { call, _ in
      if call.method.hasSuffix("Later") { return .later { success() } }
      return .now(success(#"{"text":"\#(String(repeating: "x", count: 5000))"}"#))
    }
    for number in 0..<1000 {
      let client = try fixture.connect()
      client.call(number % 2 == 0 ? "Now" : "Later")
      if number % 3 == 0 { client.send("{\"meth") }
      if number % 5 == 0 { client.endSending() }
    }
    let client = try fixture.connect()
    client.call("Later")
    #expect(client.reply() == #"{"parameters":{}}"#)
    client.endSending()
    #expect(client.reply() == nil)
    await fixture.connections(become: 0)
    await fixture.close()
  }

  @Test func `a flood of pipelined calls does not keep others waiting`() async throws {
    let floodCalls = Locked(0)
    let fixture = try await ServerFixture { call, caller in
      if call.parameters["flood"] != nil { floodCalls.withLock { $0 += 1 } }
      return .now(success())
    }
    let flood = try fixture.connect()
    let call = "{\"method\":\"org.example.Test.Now\",\"parameters\":{\"flood\":1}}\0"
    let count = 20_000
    let writer = Task.detached { [descriptor = dup(flood.descriptor.rawValue)] in
      let owned = FileDescriptor(owning: descriptor)
      let bytes = Array(String(repeating: call, count: count).utf8)
      var sent = 0
      while sent < bytes.count {
        let taken = bytes[sent...].withUnsafeBytes {
          send(owned.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if taken <= 0 { return }
        sent += taken
      }
    }
    let other = try fixture.connect()
    for _ in 0..<20 {
      other.call("Now")
      #expect(other.reply() == #"{"parameters":{}}"#)
    }
    // Nobody read the flood's replies: its calls have stopped at the bound of unread bytes.
    var replies = 0
    while replies < count, flood.reply() != nil { replies += 1 }
    #expect(replies == count)
    await writer.value
    #expect(floodCalls.withLock { $0 } == count)
    await fixture.close()
  }

  @Test func `a stop answers calls under way and closes all`() async throws {
    var limits = Limits()
    limits.stopGrace = .milliseconds(50)
    let gate = Gate()
    let fixture = try await ServerFixture(limits: limits) { _, _ in
      .later {
        await gate.wait()
        return success(Task.isCancelled ? #"{"n":0}"# : #"{"n":1}"#)
      }
    }
    let idle = try fixture.connect()
    let busy = try fixture.connect()
    busy.call("Later")
    await gate.arrived(1)
    await fixture.server.stop()
    #expect(idle.reply() == nil)
    #expect(busy.reply() == #"{"parameters":{"n":0}}"#)
    #expect(busy.reply() == nil)
    #expect(await fixture.server.connectionCount == 0)
    await fixture.close()
  }
}
