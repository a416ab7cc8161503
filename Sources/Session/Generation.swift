/// Counts the sessions of an installation. It moves at sign-in, import, logout and the end of a
/// session, at nothing else, and never goes back, restarts included. Whatever was begun under one
/// generation may not write, publish or be sent under another (I2).
package struct Generation: Comparable, Hashable, Sendable {
  package let number: UInt64

  package init(_ number: UInt64) {
    self.number = number
  }

  package static let none = Generation(0)

  package var next: Generation { Generation(number + 1) }

  package static func < (left: Generation, right: Generation) -> Bool {
    left.number < right.number
  }
}

/// The random 128-bit name of one session. Tips carry it, so that a generation number that comes
/// round again (a restored backup) matches nothing (I6).
package struct SessionID: Hashable, Sendable {
  package let bytes: [UInt8]

  /// Nil unless there are 16 bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  package var hex: String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }
}

/// Names one access token of a generation without showing it: the n-th that it has had. A caller
/// whose request was answered 401 says which one was rejected, and a refresh starts only if that
/// one is still the present one (I1). Two equal tokens in a row have different versions: a server
/// that hands out the rejected token again has answered, and is not asked again for it.
package struct TokenVersion: Hashable, Sendable {
  package let generation: Generation
  package let serial: UInt64

  package init(generation: Generation, serial: UInt64) {
    self.generation = generation
    self.serial = serial
  }
}

/// A keyed hash of a token, to compare and to show; it gives nothing of the token away and differs
/// between installations.
package struct Fingerprint: Hashable, Sendable {
  package let text: String

  package init(text: String) {
    self.text = text
  }
}
