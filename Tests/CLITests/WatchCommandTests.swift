import BrewlogAPI
import CLI
import Glibc
import JSON
import Testing
import Varlink

/// A watch that goes on over a restart of the daemon.
@Suite(.timeLimit(.minutes(1)))
struct WatchCommandTests {
  /// One connection after the other: what each sends, and how it ends.
  final class Connections {
    struct Script {
      var events: [Int] = []
      var end: ClientError?
    }

    var scripts: [Script]
    var asked: [[String: JSONValue]] = []

    init(_ scripts: [Script]) { self.scripts = scripts }

    final class Port: DaemonPort {
      let connections: Connections

      init(_ connections: Connections) { self.connections = connections }

      func call(
        _ method: APIMethod, _ parameters: [String: JSONValue], timeout: Duration
      ) throws(ClientError) -> JSONValue { throw .connectionClosed }

      func stream(
        _ method: APIMethod, _ parameters: [String: JSONValue], alongside others: () -> [Int32],
        tick: Duration?, _ each: (StreamStep) -> Bool
      ) throws(ClientError) {
        connections.asked.append(parameters)
        guard !connections.scripts.isEmpty else { return }
        let script = connections.scripts.removeFirst()
        for number in script.events {
          let reply = WatchReply(
            event: Event(
              sequence: number, at: "2026-11-30T13:00:00Z", kind: .refreshStarted, generation: 1))
          guard let bytes = try? JSONText.encode(reply),
            let value = try? JSONText.decode(JSONValue.self, from: bytes), each(.reply(value))
          else { return }
        }
        if let end = script.end { throw end }
      }

      func serverUID() throws(ClientError) -> UInt32 { 0 }
    }
  }

  private func run(_ connections: Connections, _ arguments: String...) -> Invocation.Outcome {
    var invocation = Invocation()
    invocation.arguments = arguments
    invocation.port = Connections.Port(connections)
    return invocation.run()
  }

  @Test func `a restart is survived, and nothing is shown twice or left out`() {
    let connections = Connections([
      .init(events: [5, 6], end: .connectionClosed),
      .init(end: .unreachable(path: "/x", code: ENOENT)),
      .init(end: .unreachable(path: "/x", code: ECONNREFUSED)),
      .init(events: [7, 8], end: .failure(APIError.tooSlow(lastSequence: 8).varlinkError)),
      .init(events: [9]),
    ])
    let outcome = run(connections, "watch")
    #expect(outcome.exit == .done)
    #expect(outcome.lines.count == 5)
    #expect(
      connections.asked == [
        [:], ["afterSequence": 6], ["afterSequence": 6], ["afterSequence": 6],
        ["afterSequence": 8],
      ])
    #expect(outcome.err.contains("waiting for it to come back"))
    #expect(outcome.err.contains("The daemon is back."))
  }

  @Test(
    arguments: [
      (.unreachable(path: "/x", code: ENOENT), .unreachable),
      (.failure(.permissionDenied), .permissionDenied),
    ] as [(ClientError, ExitCode)])
  func `what fails from the start is an error`(error: ClientError, exit: ExitCode) {
    #expect(run(Connections([.init(end: error)]), "watch").exit == exit)
  }

  @Test func `what a restart does not mend ends it`() {
    let connections = Connections([
      .init(events: [5], end: .connectionClosed), .init(end: .failure(.permissionDenied)),
    ])
    #expect(run(connections, "watch").exit == .permissionDenied)
  }

  @Test func `a full screen needs a terminal`() {
    #expect(run(Connections([]), "watch", "--full").exit == .usage)
  }
}
