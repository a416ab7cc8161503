package import JSON
package import Platform

/// One call as a client sent it.
package struct Call: Equatable, Sendable {
  /// Interface and method: `org.example.Clock.Now`.
  package var method: String
  package var parameters: [String: JSONValue]
  /// The client takes several replies.
  package var more: Bool
  /// The client waits for no reply, and gets none.
  package var oneway: Bool

  package init(
    method: String, parameters: [String: JSONValue] = [:], more: Bool = false, oneway: Bool = false
  ) {
    self.method = method
    self.parameters = parameters
    self.more = more
    self.oneway = oneway
  }
}

/// Who called: the kernel's word on the peer, and a number that no other connection of this
/// server ever had.
package struct Caller: Hashable, Sendable {
  package var peer: PeerCredentials
  package var connection: UInt64

  package init(peer: PeerCredentials, connection: UInt64) {
    self.peer = peer
    self.connection = connection
  }
}

/// The one reply of a call, or the last of a stream.
package enum Reply: Equatable, Sendable {
  /// The text of a JSON object, the reply's parameters. It is sent as it is, so that a reply that
  /// was encoded once can be sent often; it must not hold a NUL, which JSON text never does.
  case success([UInt8])
  case failure(VarlinkError)
}

/// How a call is answered. Calls of one connection begin in the order in which they came and may
/// then run at the same time; their replies leave in the order of the calls.
package enum Answer: Sendable {
  /// At once, without a task.
  case now(Reply)
  /// By a task on the loop. It begins at once, and is cancelled when the client is gone or the
  /// server stops; a client that only ended its sending side is not gone. A oneway call's task
  /// outlives its client, who was not going to wait.
  case later(@Sendable () async -> Reply)
  /// By a task that first sends any number of replies. A call without `more` gets ExpectedMore in
  /// its place. The returned reply is the last.
  case stream(@Sendable (ReplyStream) async -> Reply)
}

/// Answers what a handler has prepared for; on the loop, like ``CallHandler/answer(_:from:)``. Nil:
/// what it was prepared from holds no longer, and the call is to be answered as a new one.
package typealias PreparedAnswer = @Sendable (Caller) -> Answer?

/// What a server serves. Only calls of methods that the interface descriptions name arrive here.
package protocol CallHandler: Sendable {
  /// Called on the loop, and must not block it.
  func answer(_ call: Call, from caller: Caller) -> Answer

  /// Does once, for all calls of the same text, what depends on nothing but the call: looking the
  /// method up, reading its parameters. Who may call is no part of that. The text is then kept in
  /// memory, so nil is returned for what may carry secrets, and for what is not often repeated.
  func prepare(_ call: Call) -> PreparedAnswer?
}

extension CallHandler {
  package func prepare(_ call: Call) -> PreparedAnswer? { nil }
}
