import BrewlogAPI
import Configuration
import Execution
import FoundationEssentials
import JSON
import Platform
import Store
import Systemd
import TestSupport
import Varlink

@testable import Daemon

/// The whole daemon but its process: the real graph on a loop of its own, with a real store, on a
/// real socket. Nothing listens where its upstream should be.
final class GraphFixture: Sendable {
  let thread: LoopThread
  let graph: DaemonGraph
  let conduct: Conduct
  let path: String
  private let lines: Locked<[String]>
  private let scratch: ScratchDirectory
  private let socket: BoundSocket

  /// `sections` are appended to the configuration as they are.
  init(
    _ sections: String = "", logging level: Log.Level = .debug,
    askAccount: @escaping AccountNames.Ask = AccountNames.ask
  ) async throws {
    scratch = try ScratchDirectory()
    thread = try LoopThread()
    path = scratch.path("s")
    let text = """
      [Upstream]
      BaseURL=http://127.0.0.1:9
      [Store]
      Directory=\(scratch.path("state"))
      [Socket]
      Path=\(path)
      Mode=0666
      \(sections)
      """
    let file = scratch.path("brewlogd.conf")
    guard FileManager.default.createFile(atPath: file, contents: Data(text.utf8)) else {
      throw SystemError.last("write \(file)")
    }
    let source = ConfigurationSource(file: file, environment: [:])
    let configuration = try DaemonConfiguration.load(from: source)
    let lines = Locked<[String]>([])
    self.lines = lines
    let log = Log(
      level: level, form: .timestamped, write: { line in lines.withLock { $0.append(line) } })
    conduct = Conduct(
      loop: thread.loop, manager: ServiceManager { _ in }, source: source,
      configuration: configuration, log: log, askAccount: askAccount)
    graph = try DaemonGraph(
      configuration: configuration,
      accounts: AccountNames(asking: AccountNames.names(in: configuration), askAccount),
      loop: thread.loop,
      store: SQLiteSessionStore.open(
        StoreConfiguration(directory: scratch.path("state"), runtimeDirectory: scratch.path)),
      conduct: conduct, environment: [:], log: log)
    var bound = try UnixSocket.listen(at: path, mode: 0o666, backlog: 128)
    guard let listener = bound.takeListener() else { throw ClientError.connectionClosed }
    socket = bound
    try await graph.start(listener: listener)
  }

  var log: [String] { lines.withLock { $0 } }

  func connect() throws -> VarlinkClient { try VarlinkClient(connectingTo: path) }

  /// What a caller of this uid would be answered; nil where the answer has to wait.
  func reply(
    to method: String, _ parameters: [String: JSONValue] = [:], more: Bool = false,
    uid: UInt32 = 0, groups: [UInt32] = []
  ) async -> Reply? {
    let handler = graph.handler
    let call = Call(method: method, parameters: parameters, more: more)
    let peer = PeerCredentials(pid: 4_242, uid: uid, gid: uid, groups: groups)
    return await thread.run {
      if case .now(let reply) = handler.answer(call, from: Caller(peer: peer, connection: 1)) {
        reply
      } else {
        nil
      }
    }
  }

  func close() async {
    _ = await graph.stop()
    thread.close()
  }
}
