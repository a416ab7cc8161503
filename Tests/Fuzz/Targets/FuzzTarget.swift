import CFuzz

/// One thing that is fed bytes until it breaks. A broken promise is a precondition that fails.
enum FuzzTarget: String, CaseIterable {
  /// Bytes of a client to the server's machine.
  case messages
  /// Bytes of a server to the client, and on to the reply types.
  case replies
  /// Parameters of every method to the daemon's handler.
  case methods
  /// What an upstream says: fields, bodies, dates, challenges.
  case upstream
  /// The configuration's text.
  case configuration
  /// An interface's text.
  case interfaces

  func run(_ bytes: ArraySlice<UInt8>) {
    switch self {
    case .messages: MessagesTarget.run(bytes)
    case .replies: RepliesTarget.run(bytes)
    case .methods: MethodsTarget.run(bytes)
    case .upstream: UpstreamTarget.run(bytes)
    case .configuration: ConfigurationTarget.run(bytes)
    case .interfaces: InterfacesTarget.run(bytes)
    }
  }

  static let chosen = FuzzTarget(rawValue: String(cString: fuzz_target_name()))
}

/// Whether there is a target of this name. Public, like the next one, since only what leaves the
/// module is kept for C to call.
@c(fuzz_knows_target)
public func fuzzKnowsTarget(_ name: UnsafePointer<CChar>?) -> Int32 {
  guard let name else { return 0 }
  return FuzzTarget(rawValue: String(cString: name)) == nil ? 0 : 1
}

/// Feeds the chosen target once.
@c(fuzz_one_input)
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  FuzzTarget.chosen?.run(Array(UnsafeBufferPointer(start: bytes, count: count))[...])
  return 0
}
