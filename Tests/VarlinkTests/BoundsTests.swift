import Glibc
import JSON
import Platform
import TestSupport
import Testing

@testable import Varlink

extension VarlinkServer {
  /// Returns once a part of a message waits for its rest.
  fileprivate func holdsPart() async {
    while !connections.values.contains(where: { $0.part != nil }) { await Task.yield() }
  }

  /// What the timer of a part does when it falls due.
  fileprivate func partTimePasses() {
    for id in connections.keys { checkPart(id) }
  }
}

/// What one user and one message may cost: each bound at its number and past it.
@Suite(.timeLimit(.minutes(1)))
struct BoundsTests {
  /// B151: half a message costs its memory for a time and no longer.
  @Test func `a message that does not end closes its connection and one that does keeps it`()
    async throws
  {
    var limits = Limits()
    limits.messageTimeout = .milliseconds(50)
    let fixture = try await ServerFixture(limits: limits) { _, _ in .now(success()) }
    let half = try fixture.connect()
    half.send(#"{"method":"org.exa"#)
    let quiet = try fixture.connect()
    quiet.call("Now")
    #expect(quiet.reply() != nil)
    #expect(half.reply() == nil)
    await fixture.connections(become: 1)
    // Between messages a client may take its time.
    quiet.call("Now")
    #expect(quiet.reply() != nil)
    await fixture.close()
  }

  @Test func `a part behind whole messages has its own time`() async throws {
    var limits = Limits()
    // The time passes when the test says so.
    limits.messageTimeout = .seconds(3600)
    let fixture = try await ServerFixture(limits: limits) { _, _ in .now(success()) }
    let client = try fixture.connect()
    // Each message is cut in two, and each comes to its end: none is late, however many they are.
    let message = "{\"method\":\"org.example.Test.Now\"}\0"
    let (head, tail) = (String(message.prefix(9)), String(message.dropFirst(9)))
    client.send(head)
    await fixture.server.holdsPart()
    for _ in 0..<20 {
      client.send(tail + head)
      #expect(client.reply() != nil)
      await fixture.server.partTimePasses()
    }
    #expect(await fixture.server.connectionCount == 1)
    await fixture.server.partTimePasses()
    #expect(client.reply() == nil, "and the last one never ends")
    await fixture.close()
  }

  @Test func `a user's calls under way are bounded over all its connections`() async throws {
    var limits = Limits()
    limits.maxTasksPerUser = 4
    let (gate, notices) = (Gate(), Locked<[ServerNotice]>([]))
    let fixture = try await ServerFixture(
      limits: limits, notice: { notice in notices.withLock { $0.append(notice) } }
    ) { _, _ in
      .later {
        await gate.wait()
        return success()
      }
    }
    let first = try fixture.connect()
    let second = try fixture.connect()
    for client in 0..<2 {
      for _ in 0..<2 { if client == 0 { first.call("Later") } else { second.call("Later") } }
    }
    await gate.arrived(4)
    let third = try fixture.connect()
    third.call("Later")
    #expect(third.reply() == nil)
    #expect(notices.withLock { $0 } == [.tasksExhausted(uid: geteuid(), limit: 4)])
    gate.open()
    for _ in 0..<2 { #expect(first.reply() != nil) }
    for _ in 0..<2 { #expect(second.reply() != nil) }
    // Answered ones make room, and so do those whose client has left.
    let later = try fixture.connect()
    for _ in 0..<20 {
      later.call("Later")
      #expect(later.reply() != nil)
    }
    await fixture.close()
  }

  @Test func `calls whose clients leave make room for others`() async throws {
    var limits = Limits()
    limits.maxTasksPerUser = 2
    let gate = Gate()
    let fixture = try await ServerFixture(limits: limits) { _, _ in
      .later {
        await gate.wait()
        return success()
      }
    }
    for round in 1...50 {
      do {
        let client = try fixture.connect()
        client.call("Later")
        client.call("Later")
        await gate.arrived(round * 2)
      }
      await fixture.connections(become: 0)
    }
    gate.open()
    await fixture.close()
  }

  @Test func `who leaves most unread is closed and who reads is served`() async throws {
    var limits = Limits()
    limits.maxUnreadBytes = 256 * 1024
    limits.maxBufferedBytesPerUser = 1024 * 1024
    let notices = Locked<[ServerNotice]>([])
    let big = success("{\"text\":\"" + String(repeating: "x", count: 300_000) + "\"}")
    let fixture = try await ServerFixture(
      limits: limits, notice: { notice in notices.withLock { $0.append(notice) } }
    ) { call, _ in .now(call.method.hasSuffix("Big") ? big : success()) }
    let honest = try fixture.connect()
    honest.call("Now")
    #expect(honest.reply() != nil)
    let deaf = try (0..<6).map { _ in try HeldClient(fixture.path) }
    for client in deaf { client.call("Big", times: 3) }
    // At least two have to go: six hold 300 kB behind what the socket takes, and more.
    await fixture.connections(fallTo: 5)
    for _ in 0..<10 {
      honest.call("Now")
      #expect(honest.reply() == #"{"parameters":{}}"#)
    }
    guard case .memoryExhausted(_, limit: 1_048_576) = notices.withLock({ $0.first }) else {
      Issue.record("no notice")
      return
    }
    await fixture.close()
  }
}

/// A client that can be kept in an array.
final class HeldClient {
  private let client: RawClient

  init(_ path: String) throws {
    client = try RawClient(path)
  }

  func call(_ method: String, times: Int) {
    for _ in 0..<times { client.call(method) }
  }
}

extension ServerFixture {
  func connections(fallTo count: Int) async {
    while await server.connectionCount > count { await Task.yield() }
  }
}
