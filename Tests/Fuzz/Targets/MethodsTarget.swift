import BrewlogAPI
import Configuration
import Execution
import FoundationEssentials
import JSON
import Platform
import Requests
import Session
import TestSupport
import Tips

@testable import Daemon
@testable import Varlink

/// Parameters of every method, through the daemon's own handler: what is answered at once is a reply
/// that can be sent, and an error that the contract or Varlink has. What would wait is not begun.
enum MethodsTarget {
  private struct Bench {
    let ground: ManualGround
    let handler: MethodHandler
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
    let answer = bench.ground.perform {
      bench.handler.answer(call, from: Caller(peer: peer, connection: 1))
    }
    guard case .now(let reply) = answer else { return }
    check(reply)
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
    let source = ConfigurationSource(file: "fuzz.conf", environment: [:])
    guard let configuration = try? DaemonConfiguration.load(from: source, files: files) else {
      return nil
    }
    let ground = ManualGround()
    let ports = IdlePorts()
    let coordinator = SessionCoordinator(
      ground: ground, store: ports, endpoint: ports, policy: SessionPolicy())
    let requester = ResilientRequester(
      ground: ground, coordinator: coordinator, transport: ports, base: "http://127.0.0.1:9")
    guard let fields = UpstreamTarget.fields else { return nil }
    let tips = TipService(
      ground: ground, coordinator: coordinator, requester: requester, store: ports,
      freshness: Freshness(
        defaultLifetime: .seconds(60), staleIfError: .seconds(60), dayZone: .gmt),
      fields: fields)
    let handler = MethodHandler(
      loop: ground, coordinator: coordinator, requester: requester, tips: tips,
      events: EventHub(ground: ground, journal: nil),
      quota: QuotaKeeper(ground: ground, perMinute: 60),
      access: Access(
        read: Access.members(of: ["1000"], key: "Read").0,
        control: Access.members(of: ["@7"], key: "Control").0, ownUID: 999),
      configuration: configuration,
      log: Log(level: .error, isJournal: false, wallTime: { ground.wallTime }, write: { _ in }),
      startedAt: ground.now)
    return Bench(ground: ground, handler: handler)
  }
}
