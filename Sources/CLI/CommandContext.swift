package import BrewlogAPI
import Execution
package import JSON
import Varlink

/// All that a command is given.
package struct CommandContext {
  package let arguments: ParsedArguments
  package let environment: CLIEnvironment
  package let place: SocketPlace
  package let daemon: any DaemonPort
  package let output: CommandOutput

  package init(
    arguments: ParsedArguments, environment: CLIEnvironment, place: SocketPlace,
    daemon: any DaemonPort, output: CommandOutput
  ) {
    self.arguments = arguments
    self.environment = environment
    self.place = place
    self.daemon = daemon
    self.output = output
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

  /// Calls, and with `--json` prints the reply's parameters as they came.
  package func ask<Reply: Decodable>(
    _ method: APIMethod, _ parameters: [String: JSONValue] = [:],
    timeout: Duration = CommandContext.local, as type: Reply.Type
  ) throws(CommandFailure) -> Reply {
    let value: JSONValue
    do throws(ClientError) {
      value = try daemon.call(method, parameters, timeout: timeout)
    } catch {
      throw explain(error, calling: method)
    }
    if json { output.json(value) }
    return try decode(value, of: method)
  }

  /// Each reply of a stream, until the last or until `each` returns false.
  package func follow<Reply: Decodable>(
    _ method: APIMethod, _ parameters: [String: JSONValue] = [:], as type: Reply.Type,
    _ each: (Reply) -> Bool
  ) throws(CommandFailure) {
    var failure: CommandFailure?
    do throws(ClientError) {
      try daemon.stream(method, parameters) { value in
        if json { output.json(value) }
        do throws(CommandFailure) {
          return each(try decode(value, of: method))
        } catch {
          failure = error
          return false
        }
      }
    } catch {
      throw explain(error, calling: method)
    }
    if let failure { throw failure }
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
