/// Names tokens without showing them: keyed BLAKE2b under a key of this installation. Two tokens
/// can be compared by their fingerprints, in logs and replies too; without the key nobody can test
/// a guess, and the same token has another fingerprint elsewhere. Guards I10.
package final class TokenFingerprinter: Sendable {
  private let key: Secret

  package init(key: consuming Secret) {
    self.key = key
  }

  /// `fp:` and twelve hexadecimal digits: 48 bits, enough to tell a person's tokens apart.
  package func text(of token: borrowing Secret) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    digest.withUnsafeMutableBytes { output in
      key.withBytes { keyBytes in
        token.withBytes { BLAKE2b.hash(key: keyBytes, $0, into: output) }
      }
    }
    return "fp:" + Array(digest.prefix(6)).hex
  }
}
