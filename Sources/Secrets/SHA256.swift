import CSodium

/// SHA-256 (FIPS 180-4), for PKCE's challenge.
package enum SHA256 {
  package static func hash(_ message: UnsafeRawBufferPointer) -> [UInt8] {
    var output = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    let bytes = message.bindMemory(to: UInt8.self)
    crypto_hash_sha256(&output, bytes.baseAddress, UInt64(bytes.count))
    return output
  }
}
