import CSodium

/// Why sealed bytes could not be opened.
package enum SealError: Error, Equatable, Sendable {
  /// Another key, other associated data, or changed bytes: AEAD cannot tell which.
  case notAuthentic
  /// Not in the form that ``SealingKey/seal(_:for:)`` writes.
  case malformed
  case outOfMemory
}

/// A 256-bit key that seals and opens records with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha).
/// Each seal has a fresh random nonce of 192 bits: with so many, chance alone keeps them apart, and
/// there is no counter that a restored backup could set back.
///
/// What is named in `associated` is not hidden, but bound: a sealed pair moved under another
/// session, generation or rotation does not open. Guards I10 on disk.
package struct SealingKey: ~Copyable, Sendable {
  package static let byteCount = Int(crypto_aead_xchacha20poly1305_ietf_KEYBYTES)
  private static let nonceCount = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
  private static let tagCount = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)
  /// What sealing adds to the length: a version, the nonce, the tag.
  package static let overhead = 1 + nonceCount + tagCount
  private static let version: UInt8 = 1

  private let key: Secret

  /// Nil unless `key` has 32 bytes.
  package init?(_ key: consuming Secret) {
    guard key.count == Self.byteCount else { return nil }
    self.key = key
  }

  private init(exactly key: consuming Secret) {
    self.key = key
  }

  package static func random() throws(SecretError) -> SealingKey {
    SealingKey(exactly: try Secret.random(count: byteCount))
  }

  /// A key made from key material of any form and length (a credential, a key file). The purpose
  /// keeps keys for different uses apart. The material has to be random: this is no password hash.
  package init(derivedFrom material: borrowing Secret, purpose: String) throws(SecretError) {
    let derived = try Secret(count: Self.byteCount) { output in
      Array(purpose.utf8.prefix(64)).withUnsafeBytes { purposeBytes in
        material.withBytes { BLAKE2b.hash(key: purposeBytes, $0, into: output) }
      }
    }
    self.init(exactly: derived)
  }

  package borrowing func copy() throws(SecretError) -> SealingKey {
    SealingKey(exactly: try key.copy())
  }

  /// The raw key, for sealing it under another one.
  package borrowing func withBytes<Result, Failure: Error>(
    _ body: (borrowing Secret) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(key)
  }

  package borrowing func seal(_ plain: borrowing Secret, for associated: [UInt8]) -> [UInt8] {
    plain.withBytes { plainBytes in
      key.withBytes { keyBytes in
        Self.encrypt(plainBytes, keyBytes, associated)
      }
    }
  }

  /// The plain bytes, decrypted straight into locked memory.
  package borrowing func open(
    _ sealed: some Collection<UInt8>, for associated: [UInt8]
  ) throws(SealError) -> Secret {
    let bytes = Array(sealed)
    guard bytes.count >= Self.overhead, bytes[0] == Self.version else { throw .malformed }
    var authentic = false
    let plain: Secret
    do throws(SecretError) {
      plain = try Secret(count: bytes.count - Self.overhead) { output in
        key.withBytes { authentic = Self.decrypt(bytes, $0, associated, into: output) }
      }
    } catch {
      throw .outOfMemory
    }
    guard authentic else { throw .notAuthentic }
    return plain
  }

  private static func encrypt(
    _ plain: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ associated: [UInt8]
  ) -> [UInt8] {
    var sealed = [UInt8](repeating: 0, count: overhead + plain.count)
    sealed.withUnsafeMutableBytes { output in
      guard let start = output.baseAddress?.assumingMemoryBound(to: UInt8.self),
        let keyStart = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
      else { return }
      start[0] = version
      let nonce = start + 1
      randombytes_buf(nonce, nonceCount)
      _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
        start + 1 + nonceCount, nil,
        plain.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(plain.count),
        associated, UInt64(associated.count), nil,
        nonce, keyStart)
    }
    return sealed
  }

  private static func decrypt(
    _ sealed: [UInt8], _ key: UnsafeRawBufferPointer, _ associated: [UInt8],
    into output: UnsafeMutableRawBufferPointer
  ) -> Bool {
    sealed.withUnsafeBufferPointer { input in
      guard let start = input.baseAddress,
        let keyStart = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
      else { return false }
      let cipher = start + 1 + nonceCount
      return crypto_aead_xchacha20poly1305_ietf_decrypt(
        output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, nil,
        cipher, UInt64(input.count - 1 - nonceCount),
        associated, UInt64(associated.count),
        start + 1, keyStart) == 0
    }
  }
}
