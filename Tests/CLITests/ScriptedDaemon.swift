import BrewlogAPI
import CLI
import Execution
import JSON
import Platform
import TestSupport
import Varlink

/// A real server on a real socket that answers as a test has written down, and remembers what it
/// was asked.
final class ScriptedDaemon: Sendable {
  private struct Handler: CallHandler {
    let answers: [APIMethod: Answer]
    let calls: Locked<[Call]>

    func answer(_ call: Call, from caller: Caller) -> Answer {
      calls.withLock { $0.append(call) }
      guard let method = MethodTable.method(named: call.method), let answer = answers[method] else {
        return .now(.failure(.methodNotImplemented(call.method)))
      }
      return answer
    }
  }

  private let directory: ScratchDirectory
  private let loop: LoopThread
  private let server: VarlinkServer
  private let socket: Locked<BoundSocket?>
  private let calls = Locked<[Call]>([])
  var path: String { directory.path("brewlog.sock") }

  init(_ answers: [APIMethod: Answer]) async throws {
    directory = try ScratchDirectory()
    loop = try LoopThread()
    server = VarlinkServer(
      loop: loop.loop,
      info: ServiceInfo(
        vendor: "brewlog", product: "test", version: "0", url: "https://example.org"),
      interfaces: MethodTable.interfaces,
      handler: Handler(answers: answers, calls: calls))
    var bound = try UnixSocket.listen(
      at: directory.path("brewlog.sock"), mode: 0o600, backlog: 16)
    guard let listener = bound.takeListener() else {
      throw SystemError(operation: "take the listener", code: 0)
    }
    socket = Locked(bound)
    try await server.serve(on: listener)
  }

  var received: [Call] { calls.withLock { $0 } }

  func stop() async {
    await server.stop()
    loop.close()
  }
}

extension Answer {
  static func reply(_ value: some Encodable) -> Answer {
    guard let bytes = try? JSONText.encode(value) else {
      return .now(.failure(.invalidParameter("the test's own reply")))
    }
    return .now(.success(bytes))
  }

  static func failing(_ error: APIError) -> Answer { .now(.failure(error.varlinkError)) }
}
