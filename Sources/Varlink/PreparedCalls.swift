/// One call that may come again, with what its handler has made of it.
package final class PreparedCall: Sendable, Equatable {
  let text: [UInt8]
  let call: Call
  let answer: PreparedAnswer

  init(text: [UInt8], call: Call, answer: @escaping PreparedAnswer) {
    self.text = text
    self.call = call
    self.answer = answer
  }

  package static func == (left: PreparedCall, right: PreparedCall) -> Bool { left === right }
}

/// The calls that clients send over and over, known by their bytes: the same text is the same call,
/// so it is taken apart once. A memory only; with or without it every text is understood alike.
package struct PreparedCalls: Sendable {
  /// Long texts are rare, and would let a client fill the memory with what nobody repeats.
  static let longestText = 512
  private static let places = 8

  private let prepare: @Sendable (Call) -> PreparedAnswer?
  /// By the text's length: a look takes one comparison, and a newcomer takes the place over.
  private var known = [PreparedCall?](repeating: nil, count: PreparedCalls.places)

  package init(prepare: @escaping @Sendable (Call) -> PreparedAnswer?) {
    self.prepare = prepare
  }

  func known(_ text: UnsafeRawBufferPointer) -> PreparedCall? {
    guard let known = known[text.count % Self.places], known.text.count == text.count else {
      return nil
    }
    return known.text.withUnsafeBytes { SocketIO.areEqual($0, text) } ? known : nil
  }

  /// Nil: the handler wants to see each such call.
  mutating func take(_ call: Call, text: [UInt8]) -> PreparedCall? {
    guard text.count <= Self.longestText, let answer = prepare(call) else { return nil }
    let prepared = PreparedCall(text: text, call: call, answer: answer)
    known[text.count % Self.places] = prepared
    return prepared
  }

  mutating func forget(_ call: PreparedCall) {
    let place = call.text.count % Self.places
    if known[place] === call { known[place] = nil }
  }
}
