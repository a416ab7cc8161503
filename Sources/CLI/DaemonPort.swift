package import BrewlogAPI
package import JSON
package import Varlink

/// The daemon as commands see it.
package protocol DaemonPort: AnyObject {
  /// The reply's parameters.
  func call(
    _ method: APIMethod, _ parameters: [String: JSONValue], timeout: Duration
  ) throws(ClientError) -> JSONValue

  /// Each reply as it comes, until the last or until `each` returns false, and in between what the
  /// descriptors and the clock bring.
  func stream(
    _ method: APIMethod, _ parameters: [String: JSONValue], alongside others: () -> [Int32],
    tick: Duration?, _ each: (StreamStep) -> Bool
  ) throws(ClientError)

  /// The account that the other end of the socket runs as, by the kernel's word (SO_PEERCRED).
  func serverUID() throws(ClientError) -> UInt32
}
