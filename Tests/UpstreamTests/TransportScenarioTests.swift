import DemoUpstream
import Execution
import FoundationEssentials
import Glibc
import Platform
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// The HTTP layer beneath: faults that others have met, over the real transport.
@Suite(.timeLimit(.minutes(1)))
struct TransportScenarioTests {
  private static func entries(_ directory: String) -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
  }

  /// In a process of its own, where no other test opens descriptors or starts threads.
  @Test func `B196: two thousand refused and timed-out requests leave nothing behind`() async throws
  {
    await #expect(processExitsWith: .success) {
      let fixture = try UpstreamFixture()
      let mute = try MuteListener()
      let refusing = try RefusingPort()
      func round() async {
        let refused = HTTPRequest(method: .get, url: "http://127.0.0.1:\(refusing.number)/")
        #expect(await fixture.send(refused).kind == .unreachable)
        let silent = HTTPRequest(method: .get, url: "http://127.0.0.1:\(mute.port)/")
        let kind = await fixture.send(silent, within: .milliseconds(1)).kind
        #expect(kind == .unreachable || kind == .lost)
      }
      for _ in 0..<10 { await round() }
      let (threads, descriptors) = (Self.entries("/proc/self/task"), Self.entries("/proc/self/fd"))
      for _ in 0..<990 { await round() }
      // Those of the moment: the runtime's threads, a connection that is being closed.
      #expect(Self.entries("/proc/self/task") <= threads + 8)
      #expect(Self.entries("/proc/self/fd") <= descriptors + 8)
      #expect(await fixture.close() == 0)
    }
  }

  @Test(arguments: [
    ["Basic realm=\"x\""], ["Bearer"], ["Digest realm=\"x\", nonce=\"y\""], ["Negotiate"],
    ["NTLM"], ["Basic realm=\"x\", Bearer, Digest realm=\"y\", nonce=\"z\", Negotiate"],
    ["Basic realm=\"x\"", "Bearer", "Negotiate"], [],
  ])
  func `B197: a challenge that nobody answers is an answer`(challenges: [String]) async throws {
    let bench = try await ServiceBench()
    let refused = Step.respond(
      status: 401, headers: challenges.map { ("WWW-Authenticate", $0) })
    bench.upstream.always(.get, "/tips/today", refused)
    bench.upstream.always(.post, "/token", refused)
    // 401 at the tip, then at the refresh: each once, and the caller has its answer.
    guard case .failure(.unavailable) = await bench.tip(wait: .seconds(20)) else {
      Issue.record("not unavailable")
      return
    }
    #expect(bench.upstream.lines == ["GET /tips/today 401", "POST /token 401"])
    #expect(await bench.close() == 0)
  }

  @Test func `B199: a redirect that is followed has no more time than the first request`()
    async throws
  {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(
      .get, "/tips/today", .respond(status: 302, headers: [("Location", "/slow")]))
    fixture.upstream.always(.get, "/slow", .hold("slow"))
    let began = fixture.loop.now
    var result = await fixture.get("/tips/today", within: .milliseconds(500))
    // On a slow machine the deadline may come before the redirect has.
    while fixture.upstream.requests("/slow") == 0 {
      result = await fixture.get("/tips/today", within: .seconds(5))
    }
    #expect(result.kind == .lost)
    #expect(began.duration(to: fixture.loop.now) < .seconds(30))
    #expect(await fixture.close() == 0)
  }

  @Test func `B201: a request that is given up is cancelled, in whatever phase`() async throws {
    let fixture = try UpstreamFixture()
    let mute = try MuteListener()
    fixture.upstream.always(.get, "/waiting", .hold("waiting"))
    fixture.upstream.always(
      .get, "/receiving", .json("{\"a\":1}").stalled(afterBytes: 3, until: "receiving"))

    // Before it has begun.
    let queued = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await fixture.get("/tips/today").kind
    }
    #expect(await queued.value == .cancelled)
    // While it connects.
    let connecting = Task {
      await fixture.send(HTTPRequest(method: .get, url: "http://127.0.0.1:\(mute.port)/")).kind
    }
    while await fixture.transport.inFlight == 0 { await Task.yield() }
    connecting.cancel()
    #expect(await connecting.value == .cancelled)
    for phase in ["waiting", "receiving"] {
      let task = Task { await fixture.get("/" + phase).kind }
      await fixture.upstream.arrived(phase)
      task.cancel()
      #expect(await task.value == .cancelled)
    }
    #expect(await fixture.close() == 0)
  }

  @Test func `B201: a caller that leaves counts as no failure and causes no retry`() async throws {
    let bench = try await ServiceBench()
    bench.upstream.script(.get, "/tips/today", Step.hold("slow").times(20))
    for _ in 0..<5 {
      let task = Task { await bench.tip() }
      await bench.upstream.arrived("slow")
      task.cancel()
      guard case .failure(.cancelled) = await task.value else {
        Issue.record("not cancelled")
        return
      }
    }
    bench.upstream.release("slow")
    // By the request that went on for nobody, or by the cache that it has filled.
    _ = try await bench.tip().get()
    #expect(await bench.requester.counters.retries == 0)
    #expect(await bench.requester.away == nil)
    #expect(await bench.close() == 0)
  }

  /// The kept connection leads nowhere any more, and nothing says so.
  @Test func `B185: a connection that has gone silent is not used again`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.script(.get, "/x", [.json("{}"), .json("{}").held("black hole"), .json("{}")])
    #expect(await fixture.get("/x").status == 200)
    var silent = await fixture.get("/x", within: .milliseconds(300))
    while fixture.upstream.requests("/x") < 2 {
      silent = await fixture.get("/x", within: .seconds(3))
    }
    #expect(silent.kind == .lost)
    #expect(await fixture.get("/x", within: .seconds(20)).status == 200)
    let connections = fixture.upstream.log.map(\.connection)
    #expect(connections[0] == connections[1])
    #expect(connections.last != connections[0])
    #expect(await fixture.close() == 0)
  }

  /// The same where requests share a connection: giving one of them up does not end it.
  @Test(.enabled(if: WebServer.hasNginx && TestAuthority.isAvailable))
  func `B185: nor is a silent connection of HTTP-2, once a request on it was in vain`() async throws
  {
    let authority = try TestAuthority()
    let server = try WebServer.nginx(authority.issue(name: "localhost"))
    let way = try SilentWay(to: server.port)
    let fixture = try UpstreamFixture { $0.caFile = authority.certificate }
    let request = HTTPRequest(method: .get, url: "https://localhost:\(way.port)/tips/today")
    #expect(await fixture.send(request).status == 200)
    way.goSilent()
    #expect(await fixture.send(request, within: .milliseconds(500)).kind == .lost)
    #expect(await fixture.send(request, within: .seconds(20)).status == 200)
    #expect(await fixture.close() == 0)
  }
}
