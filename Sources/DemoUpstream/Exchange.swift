import CMicrohttpd

/// One request on its way through the server: what came in, what its step says, what is waited for.
/// Made by the server's thread, and let go by it when libmicrohttpd says that the request is over.
///
/// `@unchecked Sendable`: `waits` and `isSuspended` are touched under the server's lock alone, all
/// else by the server's one thread alone.
final class Exchange: @unchecked Sendable {
  enum Phase { case head, body, arrived }

  /// Never in another exchange's use while this one lives: a suspended connection stays.
  let connection: OpaquePointer
  let target: String
  var phase = Phase.head
  var method = ""
  var headers: [String: String] = [:]
  var body: [UInt8] = []

  var request: Request?
  var step = Step.normal
  var answer: Answer?
  /// Its number in the log.
  var entry = 0

  /// What is still to be waited for, first first.
  var waits: [Step.Wait] = []
  /// Whether the first of them has begun.
  var waitHasBegun = false
  var isSuspended = false

  init(connection: OpaquePointer, target: String) {
    self.connection = connection
    self.target = target
  }
}
