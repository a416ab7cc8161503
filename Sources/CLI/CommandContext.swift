package import BrewlogAPI
import Execution
package import JSON
package import Varlink

/// All that a command is given.
package struct CommandContext {
  package let arguments: ParsedArguments
  package let environment: CLIEnvironment
  package let place: SocketPlace
  package let daemon: any DaemonPort
  package let output: CommandOutput
  /// A connection of its own to the same daemon, for a call while another one waits.
  package let connect: (SocketPlace) -> any DaemonPort

  package init(
    arguments: ParsedArguments, environment: CLIEnvironment, place: SocketPlace,
    output: CommandOutput, connect: @escaping (SocketPlace) -> any DaemonPort
  ) {
    self.arguments = arguments
    self.environment = environment
    self.place = place
    self.daemon = connect(place)
    self.output = output
    self.connect = connect
  }

  package var json: Bool { arguments.has("--json") }

  package var appearance: Appearance { output.appearance }

  package var words: Words {
    let now = environment.now()
    return Words(now: now, utcOffset: environment.utcOffset(now))
  }

  /// How long a call may take that the daemon answers from memory or disk.
  package static let local = Duration.seconds(15)
  /// The same where it may have to ask the upstream: past its own deadlines and retries.
  package static let upstream = Duration.seconds(180)

  /// The same command on another connection.
  package func reconnected() -> CommandContext {
    CommandContext(
      arguments: arguments, environment: environment, place: place, output: output,
      connect: connect)
  }

  /// Calls, and with `--json` prints the reply's parameters as they came.
  package func ask<Reply: Decodable>(
    _ method: APIMethod, _ parameters: [String: JSONValue] = [:],
    timeout: Duration = CommandContext.local, as type: Reply.Type
  ) throws(CommandFailure) -> Reply {
    let value = try value(of: method, parameters, timeout)
    if json { output.json(value) }
    return try decode(value, of: method)
  }

  /// Calls without printing anything.
  package func quietly<Reply: Decodable>(
    _ method: APIMethod, _ parameters: [String: JSONValue] = [:],
    timeout: Duration = CommandContext.local, as type: Reply.Type
  ) throws(CommandFailure) -> Reply {
    try decode(value(of: method, parameters, timeout), of: method)
  }

  private func value(
    of method: APIMethod, _ parameters: [String: JSONValue], _ timeout: Duration
  ) throws(CommandFailure) -> JSONValue {
    do throws(ClientError) {
      return try daemon.call(method, parameters, timeout: timeout)
    } catch {
      throw explain(error, calling: method)
    }
  }

  /// What comes while a stream is followed.
  package enum Happening<Reply> {
    case reply(Reply)
    case ready(Int32)
    case tick
  }

  /// Each reply of a stream, until the last or until `each` returns false; in between, what the
  /// descriptors and the clock bring.
  package func follow<Reply: Decodable>(
    _ method: APIMethod, _ parameters: [String: JSONValue] = [:], as type: Reply.Type,
    alongside others: () -> [Int32] = { [] }, tick: Duration? = nil,
    _ each: (Happening<Reply>) -> Bool
  ) throws(StreamFailure) {
    var failure: CommandFailure?
    do throws(ClientError) {
      try daemon.stream(method, parameters, alongside: others, tick: tick) { step in
        switch step {
        case .ready(let descriptor): return each(.ready(descriptor))
        case .tick: return each(.tick)
        case .reply(let value):
          if json { output.json(value) }
          do throws(CommandFailure) {
            return each(.reply(try decode(value, of: method)))
          } catch {
            failure = error
            return false
          }
        }
      }
    } catch {
      throw StreamFailure(cause: error, told: explain(error, calling: method))
    }
    if let failure { throw StreamFailure(cause: nil, told: failure) }
  }

  /// Why a stream ended before its last reply, for a caller that may begin it again.
  package struct StreamFailure: Error {
    /// Nil: the reply was not as agreed.
    package let cause: ClientError?
    package let told: CommandFailure
  }

  private func decode<Reply: Decodable>(
    _ value: JSONValue, of method: APIMethod
  ) throws(CommandFailure) -> Reply {
    do throws(JSONError) {
      return try JSONText.decode(Reply.self, from: JSONText.encode(value))
    } catch {
      throw CommandFailure(
        .failed, "the daemon's reply to \(method.rawValue) is not as agreed: \(error.description)",
        remedy: "Bring brewlogd and brewlogctl to the same version.")
    }
  }
}
