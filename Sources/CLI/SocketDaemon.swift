package import BrewlogAPI
package import JSON
import Platform
package import Varlink

/// The daemon at the other end of its socket. The connection is made by the first call and kept.
package final class SocketDaemon: DaemonPort {
  private let path: String
  private var client: VarlinkClient?

  package init(path: String) {
    self.path = path
  }

  package func call(
    _ method: APIMethod, _ parameters: [String: JSONValue], timeout: Duration
  ) throws(ClientError) -> JSONValue {
    try connect()
    guard let reply = try client?.call(method.rawValue, parameters, timeout: timeout) else {
      throw .connectionClosed
    }
    return reply
  }

  package func stream(
    _ method: APIMethod, _ parameters: [String: JSONValue], alongside others: () -> [Int32],
    tick: Duration?, _ each: (StreamStep) -> Bool
  ) throws(ClientError) {
    try connect()
    try client?.stream(
      method.rawValue, parameters, first: CommandContext.upstream, alongside: others, tick: tick,
      each)
  }

  package func serverUID() throws(ClientError) -> UInt32 {
    try connect()
    guard let uid = client?.serverCredentials.uid else { throw .connectionClosed }
    return uid
  }

  private func connect() throws(ClientError) {
    if client == nil { client = try VarlinkClient(connectingTo: path, timeout: .seconds(5)) }
  }
}
