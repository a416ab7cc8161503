import BrewlogAPI
import Configuration
import Execution
import FoundationEssentials
import JSON
import Platform
import Requests
import Session
import Systemd
import Tips

@testable import Daemon
@testable import Varlink

/// Parameters of every method, through the daemon's own handler, to the end of the call: what is
/// answered is a reply that can be sent, or an error that the contract or Varlink has.
enum MethodsTarget {
  private struct Bench: Sendable {
    let loop: EventLoop
    let handler: MethodHandler
    let server: VarlinkServer
  }

  private static let bench = makeBench()

  /// The first byte chooses the method, the second the caller and whether it takes several replies;
  /// the rest is a call's parameters.
  static func run(_ bytes: ArraySlice<UInt8>) {
    guard let bench, let choice = bytes.first, let kind = bytes.dropFirst().first else { return }
    let methods = APIMethod.allCases
    let method = methods[Int(choice) % methods.count]
    let message =
      Array(#"{"method":"\#(method.rawValue)","parameters":"#.utf8) + bytes.dropFirst(2)
      + Array("}".utf8)
    guard let incoming = try? Envelope.decodeCall(message, maxDepth: 32) else { return }
    var call = incoming.call
    call.more = kind & 1 != 0
    let peer = PeerCredentials(
      pid: 1, uid: kind & 2 != 0 ? 1000 : 0, gid: 1000, groups: kind & 4 != 0 ? [7] : [])
    let caller = Caller(peer: peer, connection: 1)
    let sent = call
    bench.loop.perform { carryOut(sent, caller, bench) }
    bench.loop.run()
  }

  private static func carryOut(_ call: Call, _ caller: Caller, _ bench: Bench) {
    let work: @Sendable () async -> Reply
    switch bench.handler.answer(call, from: caller) {
    case .now(let reply):
      check(reply)
      bench.loop.stop()
      return
    case .later(let body): work = body
    case .stream(let body):
      // Nobody is there: the first reply says that the client has gone.
      let stream = ReplyStream(server: bench.server, connection: 0, slot: .awaited(0))
      work = { await body(stream) }
    }
    let task = Task(executorPreference: bench.loop) { check(await work()) }
    // What waits for something that never comes is left by its client.
    turn(bench.loop, times: 20) { task.cancel() }
    turn(bench.loop, times: 40) { bench.loop.stop() }
  }

  private static func turn(_ loop: EventLoop, times: Int, _ body: @escaping @Sendable () -> Void) {
    if times == 0 { return body() }
    loop.perform { turn(loop, times: times - 1, body) }
  }

  private static func check(_ reply: Reply) {
    switch reply {
    case .success(let bytes):
      precondition((try? MessageParser.object(in: bytes, maxDepth: 64)) != nil, "not a reply")
    case .failure(let error):
      let isKnown: Bool
      if case .other = APIError(error) { isKnown = false } else { isKnown = true }
      precondition(
        isKnown || error.name.hasPrefix("org.varlink.service."), "an error from nowhere")
    }
  }

  private static func makeBench() -> Bench? {
    let text = "[Upstream]\nBaseURL=http://127.0.0.1:9\n[Access]\nRead=1000\nControl=@7\n"
    let files = ConfigurationFiles(read: { _ in .bytes(Array(text.utf8)) }, list: { _ in .missing })
    let source = ConfigurationSource(file: "/dev/null", environment: [:])
    guard let loop = try? EventLoop(), let fields = UpstreamTarget.fields,
      let configuration = try? DaemonConfiguration.load(from: source, files: files)
    else { return nil }
    let log = Log(level: .error, form: .timestamped, write: { _ in })
    let ports = IdlePorts()
    guard
      let authorization = try? DaemonGraph.authorization(
        configuration, ports, loop, credentialsDirectory: nil)
    else { return nil }
    let endpoint = ReplaceableEndpoint(authorization.endpoint)
    let grants = LoginGrants(authorization.means, endpoint: endpoint)
    let coordinator = SessionCoordinator(
      ground: loop, store: ports, endpoint: endpoint, outbox: ports, policy: SessionPolicy())
    let requester = ResilientRequester(
      ground: loop, coordinator: coordinator, transport: ports, base: "http://127.0.0.1:9")
    let tips = TipService(
      ground: loop, coordinator: coordinator, requester: requester, store: ports,
      freshness: Freshness(
        defaultLifetime: .seconds(60), staleIfError: .seconds(60), dayZone: .gmt),
      fields: fields)
    let events = EventHub(ground: loop, journal: ports)
    let handler = MethodHandler(
      loop: loop, coordinator: coordinator, requester: requester, tips: tips,
      texts: FreshTexts(gate: coordinator.gate), events: events,
      logins: LoginCoordinator(loop: loop, coordinator: coordinator, grants: grants) { _ in },
      revocations: RevocationCoordinator(
        ground: loop, coordinator: coordinator, outbox: ports, revoker: grants
      ) { _ in },
      quota: QuotaKeeper(ground: loop, perMinute: 60),
      access: Access(
        read: Access.members(of: ["1000"], key: "Read", AccountNames(asking: [])).0,
        control: Access.members(of: ["@7"], key: "Control", AccountNames(asking: [])).0,
        ownUID: 999),
      refusals: RefusalLog(ground: loop, log: log), configuration: configuration, log: log,
      startedAt: loop.now,
      conduct: Conduct(
        loop: loop, manager: ServiceManager { _ in }, source: source, configuration: configuration,
        log: log))
    Task(executorPreference: loop) {
      try await coordinator.start()
      try await events.start()
      loop.stop()
    }
    loop.run()
    let server = VarlinkServer(
      loop: loop, info: ServiceInfo(vendor: "", product: "", version: "", url: ""), interfaces: [],
      handler: handler)
    return Bench(loop: loop, handler: handler, server: server)
  }
}
