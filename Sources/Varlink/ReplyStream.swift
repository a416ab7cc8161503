/// Where a stream's replies go. Valid until the stream's task has returned or its client is gone.
package struct ReplyStream: Sendable {
  let server: VarlinkServer
  let connection: UInt64
  let slot: ConnectionMachine.Slot

  /// Sends one reply, the text of a JSON object, with `continues`, at once. On the loop only; it
  /// does not wait. On a failure the reply was not sent: the producer returns its last one.
  package func send(_ parameters: [UInt8]) throws(StreamFailure) {
    try server.assumeIsolated { server in
      server.send(parameters, on: slot, of: connection)
    }.get()
  }
}
